"""Waits for what comes soon, for tests that must not depend on how soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], limit: float = 60) -> T:
    """Asks again and again until the condition holds, and returns what it gave; fails the test after `limit` seconds.

    Only a test that fails takes that long, so the limit is generous.
    """
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, f"still {found!r} after {limit} s"
        time.sleep(0.01)
    return found
