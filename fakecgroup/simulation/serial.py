"""Numbers one after the other, which keep things in order that are due at the same time."""

from __future__ import annotations


class Serial:
    """Gives 0, 1, 2 and so on."""

    following: int

    def __init__(self) -> None:
        self.following = 0

    def __next__(self) -> int:
        self.following += 1
        return self.following - 1
