"""The clock of a kernel, which stands still but for what it is advanced by, once somebody advances it."""

from __future__ import annotations

from collections.abc import Callable

_MOST_SECONDS = 3_200_000_000  # 100 years
MOST_NS = _MOST_SECONDS * 1_000_000_000


def to_ns(seconds: float) -> int:
    """A time that passes, in ns. Raises ValueError for a negative one, and one of more than 100 years."""
    if not 0 <= seconds <= _MOST_SECONDS:
        raise ValueError(f"seconds: {seconds!r} is no time that can pass: 0 to {_MOST_SECONDS:,}")
    return round(seconds * 1_000_000_000)


class VirtualClock:
    """Gives ns. It follows `clock` until `start` is called, and is virtual from then on."""

    _now: int | None

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._now = None

    def __call__(self) -> int:
        return self._clock() if self._now is None else self._now

    def start(self) -> int:
        """Stop following the clock. Returns the time."""
        if self._now is None:
            self._now = self._clock()
        return self._now

    def set(self, now: int) -> None:
        """Set the time, in ns."""
        self._now = now
