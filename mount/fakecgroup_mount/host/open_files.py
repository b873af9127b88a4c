"""The open files of this process."""

from __future__ import annotations

import os
from collections.abc import Collection


def close_all_but(kept: Collection[int]) -> None:
    """Closes all descriptors but these."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # that of the listing itself
