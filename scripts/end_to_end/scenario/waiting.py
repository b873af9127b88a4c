"""Waiting for what the kernel or the engine does by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after which what did not happen will not: a machine that is emulated on a busy one takes its time.
PATIENCE = 60.0


def until(done: Callable[[], bool]) -> float:
    """Seconds until something is so; more than PATIENCE if it did not become so."""
    start = time.monotonic()
    while (took := time.monotonic() - start) <= PATIENCE and not done():
        time.sleep(0.02)
    return took
