"""When a daemon looks for reference cycles."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Has the garbage collector run seldom. Only removed cgroups leave reference cycles, and they are small.

    What there is now stays, so it is not searched.
    """
    gc.freeze()
    gc.set_threshold(20_000, 10, 5)
    gc.enable()
