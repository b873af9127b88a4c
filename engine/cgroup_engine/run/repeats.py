"""Drift that comes again and again: the first at a path is told, and then it is counted.

The count is told 10 s after the first repeat, 20 s after it, 40 s and so on, then once an hour, and at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from cgroup_engine.run.events import Drift

FIRST, LONGEST = 10.0, 3600.0  # seconds
#: The most paths to remember: strangers choose the names of cgroups.
_MOST_PATHS = 10_000


@dataclass(frozen=True)
class Repeated:
    """Drift that was not told one by one.

    ``count``: how often. ``paths``: at how many paths. ``seconds``: the time it took. ``path``: where it was most
    often, ``most`` times; ``by``: who was last seen there, or "".
    """

    count: int
    paths: int
    seconds: float
    path: str
    most: int
    by: str


class Repeats:
    """Counts drift by path. ``clock``: seconds, never going back.

    A path without drift for an hour is forgotten. Without a repeat between two times to tell, the times begin anew.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}  # the latest at the end
        self._counts: Counter[str] = Counter()
        self._by: dict[str, str] = {}
        self._began = self._told = 0.0
        self._due: float | None = None

    def is_new(self, drift: Drift) -> bool:
        """Is it the first at its path? If not, it is counted."""
        now = self._clock()
        last = self._last.pop(drift.path, None)
        self._last[drift.path] = now
        if len(self._last) > _MOST_PATHS:
            del self._last[next(iter(self._last))]
        if last is None or now - last > LONGEST:
            return True
        if self._due is None:
            self._began = self._told = now
            self._due = now + FIRST
        self._counts[drift.path] += 1
        self._by[drift.path] = drift.by
        return False

    def due(self) -> Repeated | None:
        """What was counted, if it is time to tell."""
        if self._due is None or self._clock() < self._due:
            return None
        told = self.rest()
        if told is None:
            self._due = None
            return None
        while self._due <= self._told:
            self._due += min(self._due - self._began, LONGEST)
        return told

    def rest(self) -> Repeated | None:
        """What was counted and not told yet; None if there was nothing."""
        if not self._counts:
            return None
        began, self._told = self._told, self._clock()
        [(path, most)] = self._counts.most_common(1)
        count, paths = sum(self._counts.values()), len(self._counts)
        told = Repeated(count, paths, self._told - began, path, most, self._by[path])
        self._counts.clear()
        self._by.clear()
        return told
