"""How long to wait before the next attempt: exponential backoff with jitter."""

from __future__ import annotations

import random


class JitteredBackoff:
    """Delays that double from ``first`` to ``most`` seconds, each shortened at random by up to a half.

    ``next`` gives the next delay in seconds; ``reset`` begins again.
    """

    def __init__(self, first: float, most: float) -> None:
        self._first, self._most = first, most
        self._next = first

    def next(self) -> float:
        delay, self._next = self._next, min(2 * self._next, self._most)
        return random.uniform(delay / 2, delay)

    def reset(self) -> None:
        self._next = self._first
