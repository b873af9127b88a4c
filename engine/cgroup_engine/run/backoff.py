"""Backoff by path: for steps that failed, and for files that somebody else keeps changing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

FIRST_DELAY = 1.0  # seconds


@dataclass
class _Failures:
    text: str
    count: int
    since: float
    due: float


class BackOff:
    """Paths with the time of their next attempt: after 1 s, doubled each time, at most ``longest`` seconds.

    ``free``: how many failures of a path cause no delay. ``clock``: seconds, never going back.
    """

    def __init__(self, longest: float, clock: Callable[[], float], free: int = 0) -> None:
        self._longest = longest
        self._clock = clock
        self._free = free
        self._failures: dict[str, _Failures] = {}

    def back_off(self, path: str, text: str) -> float:
        """Notes a failure with this value; returns the seconds until the next attempt. A new value starts over."""
        now = self._clock()
        known = self._failures.get(path)
        count = known.count + 1 if known is not None and known.text == text else 1
        waits = count - self._free
        delay = min(FIRST_DELAY * 2 ** min(waits - 1, 32), self._longest) if waits > 0 else 0.0
        self._failures[path] = _Failures(text, count, now, now + delay)
        return delay

    def count(self, path: str) -> int:
        """The number of failures of a path with its latest value."""
        known = self._failures.get(path)
        return known.count if known is not None else 0

    def in_backoff(self, path: str, text: str | None = None) -> bool:
        """Is it too early to try a path again with this value, or with any?"""
        known = self._failures.get(path)
        return known is not None and text in (None, known.text) and self._clock() < known.due

    def keep_only(self, paths: Iterable[str]) -> None:
        """Forgets all other paths."""
        self._failures = {path: self._failures[path] for path in paths if path in self._failures}

    def forget_quiet(self) -> None:
        """Forgets paths without a failure for twice the longest delay."""
        oldest = self._clock() - 2 * self._longest
        self._failures = {path: known for path, known in self._failures.items() if known.since > oldest}

    def due(self) -> float | None:
        """The time of the next attempt, by the clock; None if no path waits."""
        now = self._clock()
        return min((known.due for known in self._failures.values() if known.due > now), default=None)
