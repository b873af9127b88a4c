"""What is not tried again for a while: steps that failed, and files that somebody else keeps changing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

FIRST_DELAY = 1.0  # seconds


@dataclass
class _Strikes:
    text: str
    count: int
    since: float
    due: float


class BackOff:
    """Paths with the time at which they are tried again: after 1 s, and twice as long each time, up to ``longest``.

    ``free``: how often a path may be struck before it waits at all. ``clock``: seconds, never going back.
    """

    def __init__(self, longest: float, clock: Callable[[], float], free: int = 0) -> None:
        self._longest = longest
        self._clock = clock
        self._free = free
        self._strikes: dict[str, _Strikes] = {}

    def back_off(self, path: str, text: str) -> float:
        """It failed (again) with this value; returns the seconds until it is tried again."""
        now = self._clock()
        known = self._strikes.get(path)
        count = known.count + 1 if known is not None and known.text == text else 1
        waits = count - self._free
        delay = min(FIRST_DELAY * 2 ** min(waits - 1, 32), self._longest) if waits > 0 else 0.0
        self._strikes[path] = _Strikes(text, count, now, now + delay)
        return delay

    def in_backoff(self, path: str, text: str | None = None) -> bool:
        """Is it too early to try this value again, or any?"""
        known = self._strikes.get(path)
        return known is not None and text in (None, known.text) and self._clock() < known.due

    def keep_only(self, paths: Iterable[str]) -> None:
        """Forgets all other paths: they are as wanted, or not wanted any more."""
        self._strikes = {path: self._strikes[path] for path in paths if path in self._strikes}

    def forget_quiet(self) -> None:
        """Forgets what was not struck for twice the longest delay."""
        oldest = self._clock() - 2 * self._longest
        self._strikes = {path: known for path, known in self._strikes.items() if known.since > oldest}

    def due(self) -> float | None:
        """When the first that waits may be tried again; None if nothing waits."""
        now = self._clock()
        return min((known.due for known in self._strikes.values() if known.due > now), default=None)
