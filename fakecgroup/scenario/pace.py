"""How much virtual time is due as real time passes."""

from __future__ import annotations


class Pace:
    """Virtual time that goes `speed` times as fast as real time; with speed 0 it stands still. Times are ns."""

    def __init__(self, speed: float, now: int) -> None:
        self.speed = speed
        self._real = now
        self._virtual = 0

    def due(self, now: int) -> int:
        """The virtual time that has passed when the real clock shows `now`."""
        return self._virtual + round((now - self._real) * self.speed)

    def go_on(self, now: int, virtual: int) -> None:
        """Go on from `virtual`, as if that had been due at `now`."""
        self._real, self._virtual = now, virtual

    def until(self, now: int, virtual: int) -> float | None:
        """Real seconds from `now` until a virtual time, at least 0; None if it never comes by itself."""
        return max(0.0, (virtual - self.due(now)) / self.speed / 1e9) if self.speed else None
