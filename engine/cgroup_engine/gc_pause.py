"""Python's cycle collector, paused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses Python's cycle collector while plain data is made.

    Plain data has no cycles, and searching it for some takes as long as making it. Only for work that ends soon:
    cycles stay in memory until the pause is over.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
