"""Evictions that a file of --usage expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WantedEviction:
    """The pods that are to be evicted by a ``time`` (ns since the start), in order. ``place``: where this is said."""

    time: int
    pods: tuple[str, ...]
    place: str

    def unmet(self, evicted: Sequence[tuple[int, str]]) -> str | None:
        """What is wrong with the (time, pod) that were evicted; None if nothing is."""
        seen = tuple(pod for time, pod in evicted if time <= self.time)
        if seen == self.pods:
            return None
        wanted, found = (", ".join(pods) or "no pod" for pods in (self.pods, seen))
        return f"{self.place}: at {self.time / 1e9:g} s evicted is to be {wanted}, and is {found}"
