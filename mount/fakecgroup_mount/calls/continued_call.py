"""Waits for the outcome of a call that the kernel was told to make (SECCOMP_USER_NOTIF_FLAG_CONTINUE).

The kernel does not report what the call made, such as a child or a namespace. So it is looked for until it is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fakecgroup_mount.seccomp.process import A_FORK, is_in_call, ran

_PATIENCE = 10.0  # seconds; on a busy machine a thread waits long for a CPU
_PAUSE = 0.0002


def wait_for_outcome(tid: int, number: int, has_come: Callable[[], bool], is_over: Callable[[], bool]) -> None:
    """Waits until `has_come` says that the outcome is there, or until the call is over without one.

    `number` is the number of the system call that thread `tid` makes. The call is over when the thread has left it, has
    run for longer than such a call takes, or when `is_over` says so. The wait ends after ten seconds in any case.
    """
    end, begun = time.monotonic() + _PATIENCE, ran(tid)
    over = False
    while not over and time.monotonic() < end:
        over = not is_in_call(tid, number) or ran(tid) - begun > A_FORK or is_over()
        if has_come():  # looked for after `over`, as it may come just before the end
            return
        time.sleep(_PAUSE)
