"""Processes that start again after they have ended."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple
from .serial import Serial

if TYPE_CHECKING:
    from .workload import Workload

RESTART_DELAY = 1_000_000_000  # ns


class Restart(NamedTuple):
    """A process to start at a `time` in cgroups, by their paths in each hierarchy."""

    time: int
    order: int
    workload: Workload
    cgroups: tuple[str, ...]


class Restarts:
    """The processes that are to start again, soonest first."""

    _queue: list[Restart]
    _order: Serial

    def __init__(self) -> None:
        self._queue = []
        self._order = Serial()

    def add(self, now: int, workload: Workload, cgroups: tuple[str, ...]) -> None:
        """Let a process start again a little later."""
        heapq.heappush(self._queue, Restart(now + RESTART_DELAY, next(self._order), workload, cgroups))

    @property
    def soonest(self) -> int | None:
        """When the next one starts."""
        return self._queue[0].time if self._queue else None

    def due(self, now: int) -> Restart | None:
        """Take the next one that is to start by now."""
        return heapq.heappop(self._queue) if self._queue and self._queue[0].time <= now else None

    def forget(self, workload: Workload) -> None:
        """Start no process of a workload again."""
        self._queue = [one for one in self._queue if one.workload is not workload]
        heapq.heapify(self._queue)
