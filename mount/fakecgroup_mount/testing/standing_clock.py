"""The clock of a test's tree."""

from __future__ import annotations

import time
from collections.abc import Callable

_SECOND = 1_000_000_000


def standing_clock() -> Callable[[], int]:
    """Gives ns: a whole second, about now, for ever. So what a test sees does not depend on how fast the test is."""
    now = time.time_ns() // _SECOND * _SECOND
    return lambda: now
