"""How far a comparison has come, and how long it takes to its end, for who waits at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

_FIRST = 1.0  # seconds, from when on the time so far tells the rest


class Progress:
    """Call it before each case with its number, from 1, and that of all. Writes on a terminal alone."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._began = clock()
        self._shown = self._stream.isatty()

    def __call__(self, number: int, of: int) -> None:
        if self._shown:
            text = f"{number}/{of} cases{self._to_go(number - 1, of)}" if number < of else ""
            print(f"\r{text}\033[K", end="", file=self._stream, flush=True)

    def _to_go(self, done: int, of: int) -> str:
        """ ", 40 s to go", once there is an idea of it."""
        spent = self._clock() - self._began
        if spent < _FIRST or not done:
            return ""
        left = spent / done * (of - done)
        return f", {left:.0f} s to go" if left < 100 else f", {left / 60:.0f} min to go"
