"""Waits for something that the kernel or the engine does by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

#: The longest wait in seconds. An emulated machine on a busy host is slow.
PATIENCE = 60.0


def until(done: Callable[[], bool]) -> float:
    """Waits until `done()` is true. Returns the seconds, which exceed PATIENCE if it never was."""
    start = time.monotonic()
    while (took := time.monotonic() - start) <= PATIENCE and not done():
        time.sleep(0.02)
    return took
