"""What simulated processes would use: a list of phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .words import parse_count, parse_cpu, parse_duration

_PHASE_KEYS = ("for", "run", "sleep", "cpu")
_LATER = ("memory", "file", "reclaimable", "kernel", "hugetlb", "io")
_MOST_INSTANCES = 100_000
_MOST_THREADS = 10_000
_MOST_LOOPS = 10**12

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a process's life: it would use `cpu` CPUs for `time` ns, or needs `run` ns of CPU time.

    Exactly one of the two is set.
    """

    time: int | None
    run: int | None
    cpu: float


class Workload:
    """One or more processes that live through the same phases.

    A phase is a mapping in a scenario's words: `{"for": "10s", "cpu": 1.5}`, `{"run": "35ms"}` (CPU time to be used up,
    however long that takes) or `{"sleep": "165ms"}`. `cpu` carries over to later phases that do not state it.
    `instances` processes have `threads` threads each (default: the greatest `cpu`, rounded up). They start after
    `delay`, repeat the phases `loop` times or "forever", and exit. `nice` is -20 to 19, `oom_score_adj` -1000 to 1000.
    Raises ValueError that names what is wrong.
    """

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
    ) -> None:
        self.name = name
        self.instances = _read("instances", instances, _count(0, _MOST_INSTANCES))
        self.phases = _phases(phases)
        most = max(phase.cpu for phase in self.phases)
        self.threads: int = (
            max(1, math.ceil(most)) if threads is None else _read("threads", threads, _count(1, _MOST_THREADS))
        )
        self.nice = _read("nice", nice, _count(-20, 19))
        self.oom_score_adj = _read("oom_score_adj", oom_score_adj, _count(-1000, 1000))
        self.delay = _read("delay", delay, parse_duration)
        self.loop: int | None = None if loop == "forever" else _read("loop", loop, _count(1, _MOST_LOOPS))
        if self.loop is None and not any(phase.time or phase.run for phase in self.phases):
            raise ValueError("loop: forever, but no phase takes any time")
        if most > self.threads:
            raise ValueError(f"threads: {self.threads} cannot use {most:g} CPUs")


def _read(key: str, text: object, parse: Callable[[str], _T]) -> _T:
    """A value in a scenario's words. Raises ValueError that begins with the key."""
    try:
        return parse(str(text))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _count(least: int, most: int) -> Callable[[str], int]:
    return lambda text: parse_count(text, least, most)


def _phases(phases: Sequence[Mapping[str, object]]) -> tuple[Phase, ...]:
    if isinstance(phases, (str, bytes, Mapping)) or not isinstance(phases, Sequence) or not phases:
        raise ValueError("phases: there must be a list of at least one")
    made: list[Phase] = []
    cpu = 0.0
    for number, words in enumerate(phases):
        where = f"phases[{number}]"
        if not isinstance(words, Mapping):
            raise ValueError(f"{where}: {words!r} is no mapping such as {{for: 10s, cpu: 1}}")
        for key in words:
            if key in _LATER:
                raise ValueError(f"{where}: {key} is not simulated yet; of a phase there is {', '.join(_PHASE_KEYS)}")
            if key not in _PHASE_KEYS:
                raise ValueError(f"{where}: no key {key!r}; there is {', '.join(_PHASE_KEYS)}")
        kinds = [key for key in ("for", "run", "sleep") if key in words]
        if len(kinds) != 1:
            raise ValueError(f"{where}: one of for, run and sleep is needed")
        kind = kinds[0]
        lasts = _read(f"{where}.{kind}", words[kind], parse_duration)
        if "cpu" in words:
            if kind != "for":
                raise ValueError(f"{where}: cpu goes with for; a phase that runs takes one CPU, one that sleeps none")
            cpu = _read(f"{where}.cpu", words["cpu"], parse_cpu)
        if kind == "run":
            made.append(Phase(None, lasts, 1.0))
        else:
            made.append(Phase(lasts, None, cpu if kind == "for" else 0.0))
    return tuple(made)
