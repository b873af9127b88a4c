"""What simulated processes would use: a list of phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .phase import Phase, read_phases, read_value
from .words import parse_count, parse_duration

_MOST_INSTANCES = 100_000
_MOST_THREADS = 10_000
_MOST_LOOPS = 10**12


class Workload:
    """One or more processes that live through the same phases.

    A phase is a mapping in a scenario's words: `{"for": "10s", "cpu": 1.5}`, `{"run": "35ms"}` (CPU time to be used up,
    however long that takes) or `{"sleep": "165ms"}`. Each may say what the process holds then: `memory` ("100Mi", or
    {"start": "5Mi", "grow": "10Mi/s"}), `file` with `reclaimable` ("50%"), `kernel`, `hugetlb` ({"2Mi": "64Mi"}). What
    a phase does not state carries over.
    `instances` processes have `threads` threads each (default: the greatest `cpu`, rounded up). They start after
    `delay`, repeat the phases `loop` times or "forever", and exit. With `restart` "always" one that has exited or was
    killed starts again after a second. `nice` is -20 to 19, `oom_score_adj` -1000 to 1000.
    Raises ValueError that names what is wrong.
    """

    name: str | None
    instances: int
    phases: tuple[Phase, ...]
    threads: int
    nice: int
    oom_score_adj: int
    delay: int  # ns
    loop: int | None
    restart: bool

    def __init__(
        self,
        phases: Sequence[Mapping[str, object]],
        *,
        name: str | None = None,
        instances: int | str = 1,
        threads: int | str | None = None,
        nice: int | str = 0,
        oom_score_adj: int | str = 0,
        delay: float | str = 0,
        loop: int | str = 1,
        restart: str = "never",
    ) -> None:
        self.words: dict[str, Any] = {
            "phases": _plain(phases),
            "name": name,
            "instances": str(instances),
            "threads": None if threads is None else str(threads),
            "nice": str(nice),
            "oom_score_adj": str(oom_score_adj),
            "delay": str(delay),
            "loop": str(loop),
            "restart": restart,
        }
        """The arguments that make the same workload again, as texts, lists and mappings."""
        self.name = name
        self.instances = read_value("instances", instances, _count(0, _MOST_INSTANCES))
        self.phases = read_phases(phases)
        most = max(phase.cpu for phase in self.phases)
        self.threads = (
            max(1, math.ceil(most)) if threads is None else read_value("threads", threads, _count(1, _MOST_THREADS))
        )
        self.nice = read_value("nice", nice, _count(-20, 19))
        self.oom_score_adj = read_value("oom_score_adj", oom_score_adj, _count(-1000, 1000))
        self.delay = read_value("delay", delay, parse_duration)
        self.loop = None if loop == "forever" else read_value("loop", loop, _count(1, _MOST_LOOPS))
        self.restart = read_value("restart", restart, _restart)
        if self.loop is None and not any(phase.time or phase.run for phase in self.phases):
            raise ValueError("loop: forever, but no phase takes any time")
        if most > self.threads:
            raise ValueError(f"threads: {self.threads} cannot use {most:g} CPUs")


def _plain(words: object) -> object:
    if isinstance(words, Mapping):
        return {str(key): _plain(value) for key, value in words.items()}
    if isinstance(words, Sequence) and not isinstance(words, (str, bytes)):
        return [_plain(item) for item in words]
    return str(words)


def _count(least: int, most: int) -> Callable[[str], int]:
    return lambda text: parse_count(text, least, most)


def _restart(text: str) -> bool:
    if text not in ("never", "always"):
        raise ValueError(f"{text!r} is neither never nor always")
    return text == "always"
