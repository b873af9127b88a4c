"""Who listens to files while a scenario is played: a second document after the scenario, which only the oracle reads.

listen:
  - {file: app/cpu.pressure, trigger: some 150000 1000000, from: 1500ms, user: nobody}
  - {file: memory/app/memory.usage_in_bytes, event: 30M}

A `trigger` is written `from` a time on (default 0), by a user without privileges if there is a `user`. An `event` is
registered in cgroup.event_control when the tasks begin.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from select import POLLPRI

import yaml

from fakecgroup import Kernel
from fakecgroup.credentials.caller import ROOT, Caller, EventFd
from fakecgroup.scenario.outcome import Mark
from fakecgroup.scenario.scenario import Expectation
from fakecgroup.simulation.words import parse_duration
from fakecgroup.vfs.openfile import OpenFile

_SEPARATOR = "\n---\n"
_NOBODY = 65534
_EVENTFD, _CONTROL = 3, 4  # descriptors of the caller


@dataclass(frozen=True)
class Listener:
    """One of a scenario's. `begin` is ns since the start; `text` is what is written."""

    file: str
    text: str
    is_pressure: bool
    begin: int = 0
    as_user: bool = False

    @property
    def line(self) -> str:
        """As the guest takes it (guest/listen.c)."""
        if self.is_pressure:
            return f"listen pressure {self.file} {self.begin} {int(self.as_user)} {self.text}"
        return f"listen eventfd {self.file} {self.text}"

    def numbers(self, until: int) -> list[Expectation]:
        """What is compared of its events up to a time."""
        about = f"`{self.text}`" + (", a user" if self.as_user else "")
        one = Expectation(until, self.file, f"{about}: events", None, None, "")
        if not self.is_pressure:
            return [one]
        return [one, *(replace(one, key=f"{about}: {what}") for what in ("first after", "least distance", "distance"))]

    def values(self, events: Iterable[int]) -> list[float]:
        """The numbers, of the times of all events (ns since the start); times in µs."""
        times = list(events)
        if not self.is_pressure:
            return [float(len(times))]
        gaps = [(later - before) / 1e3 for before, later in pairwise(times)] or [0.0]
        first = (times[0] - self.begin) / 1e3 if times else 0.0
        return [float(len(times)), first, min(gaps), sum(gaps) / len(gaps)]


def split(text: str) -> tuple[str, list[Listener]]:
    """The scenario, and who listens."""
    scenario, _, rest = text.partition(_SEPARATOR)
    rows = yaml.safe_load(rest)["listen"] if rest else []
    return scenario, [_listener(row) for row in rows]


def _listener(row: dict[str, str]) -> Listener:
    if "event" in row:
        return Listener(row["file"], str(row["event"]), is_pressure=False)
    begin = parse_duration(row.get("from", "0"))
    return Listener(row["file"], row["trigger"], True, begin, "user" in row)


class Hearing:
    """A listener in the model: a `Watcher` that begins at its time. `events` are their times, ns since the start."""

    def __init__(self, kernel: Kernel, listener: Listener) -> None:
        self._kernel = kernel
        self._start = kernel.now
        self._listener = listener
        self._opened: OpenFile | None = None
        self._begun = False
        self.events: list[int] = []

    def next(self) -> int | None:
        return None if self._begun else self._listener.begin

    def look(self, now: int) -> Iterator[Mark]:
        self._begun = True
        if self._listener.is_pressure:
            self._poll()
        else:
            self._register()
        return iter(())

    def notified(self) -> None:
        """Poll the file, as who waits for it does when something was notified."""
        if self._opened is not None and self._opened.poll() & POLLPRI:
            self._hear()

    def _hear(self) -> None:
        self.events.append(self._kernel.now - self._start)

    def _poll(self) -> None:
        caller = Caller(_NOBODY, _NOBODY) if self._listener.as_user else ROOT
        path = f"/{self._listener.file}"
        self._kernel.chmod(path, 0o666)
        self._opened = self._kernel.open(path, os.O_RDWR, caller)
        self._opened.write(self._listener.text.encode(), caller)

    def _register(self) -> None:
        path = f"/{self._listener.file}"
        files = {_EVENTFD: EventFd(self._hear), _CONTROL: self._kernel.walk(path)}
        caller = ROOT._replace(files=files.get)
        text = f"{_EVENTFD} {_CONTROL} {self._listener.text}"
        self._kernel.write(f"{path.rpartition('/')[0]}/cgroup.event_control", text, caller)
