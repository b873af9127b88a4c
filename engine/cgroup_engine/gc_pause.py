"""Python's search for cycles, paused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Plain data has no cycles, and looking for some in every million of new objects takes as long as making them.

    For work that ends: what is in a cycle stays until the pause is over.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
