"""The clock of a kernel, which stands still but for what it is advanced by, once somebody advances it."""

from __future__ import annotations

from collections.abc import Callable


class VirtualClock:
    """Gives ns. It follows `clock` until `start` is called, and is virtual from then on."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._now: int | None = None

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
