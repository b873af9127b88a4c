"""When a daemon looks for reference cycles."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Has the garbage collector run seldom. Only removed cgroups leave reference cycles, and they are small."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 5)
