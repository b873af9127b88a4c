"""The kernel says nothing of a task that a call makes once it was let go on: somebody looks until it is there."""

from __future__ import annotations

import time
from collections.abc import Callable

from fakecgroup_mount.seccomp.process import A_FORK, is_in_call, ran

_PATIENCE = 10.0  # seconds, if nobody knows whether the call is over: on a busy machine a thread waits long for a CPU
_PAUSE = 0.0002


def wait_for_outcome(tid: int, number: int, has_come: Callable[[], bool], is_over: Callable[[], bool]) -> None:
    """Until what the thread's call makes `has_come`, or the call is over without it. The call is the one of this
    number; it is over too where the thread has left it, has run for longer than it takes, or as `is_over` says.
    """
    end, begun = time.monotonic() + _PATIENCE, ran(tid)
    over = False
    while not over and time.monotonic() < end:
        over = not is_in_call(tid, number) or ran(tid) - begun > A_FORK or is_over()
        if has_come():  # asked after the others, as it may come just before the end
            return
        time.sleep(_PAUSE)
