"""How far it is, on a terminal."""

from __future__ import annotations

import sys
import time

_EVERY = 0.2  # seconds
_WIDTH = 30


class Progress:
    """A bar on stderr, if that is a terminal, of so many nodes."""

    def __init__(self, total: int) -> None:
        self._total = max(1, total)
        self._done = 0
        self._next = 0.0
        self._shows = sys.stderr.isatty()

    def add(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        now = time.monotonic()
        if self._shows and now >= self._next:
            self._next = now + _EVERY
            filled = _WIDTH * self._done // self._total
            bar = "#" * filled + "." * (_WIDTH - filled)
            print(f"\r{bar} {self._done:,} of {self._total:,} nodes", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Takes the bar away."""
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
