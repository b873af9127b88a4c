"""The exit statuses that `git bisect run` takes."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fakecgroup_mount.errors import MountError

#: This one cannot be judged.
CANNOT_TELL = 125
#: From 128 on the bisection ends.
INTERRUPTED = 130


def judged(run: Callable[[], int]) -> int:
    """What `run` returns: 0 or 1. An error, which is no difference, is told and CANNOT_TELL."""
    try:
        return run()
    except (MountError, OSError, MemoryError) as error:
        print(f"fakecgroup conformance: {error}", file=sys.stderr)
        return CANNOT_TELL
    except KeyboardInterrupt:
        print("fakecgroup conformance: interrupted", file=sys.stderr)
        return INTERRUPTED
