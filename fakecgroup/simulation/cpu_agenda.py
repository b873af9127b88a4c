"""When something will happen by itself: a process has the CPU time that it needs, if nothing changes before."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cpu_demand import Demand


class Source(Protocol):
    """What something is expected of. `alarm` grows with each expectation: the last one is in force."""

    alarm: int

    def due(self, now: int) -> Iterator[Demand]:
        """The processes that have what they need, now that the time has come."""


class Agenda:
    """What is expected of each source, soonest first. Times are ns."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, Source, int]] = []
        self._order = count()

    def clear(self) -> None:
        """Expect nothing."""
        self._queue = []

    def expect(self, time: int, source: Source) -> None:
        """Expect something of a source at a time, and nothing that was expected of it before."""
        source.alarm += 1
        heapq.heappush(self._queue, (time, next(self._order), source, source.alarm))

    def next(self, until: int) -> int:
        """When something is expected next; `until` if nothing is before."""
        queue = self._queue
        while queue and queue[0][3] != queue[0][2].alarm:
            heapq.heappop(queue)
        return min(queue[0][0], until) if queue else until

    def due(self, now: int) -> Iterator[Source]:
        """Take the sources of which something is expected by now."""
        while self._queue and self._queue[0][0] <= now:
            _, _, source, alarm = heapq.heappop(self._queue)
            if alarm == source.alarm:
                yield source
