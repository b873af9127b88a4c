"""A short time slice for a thread that wakes often and runs briefly: it gets a CPU sooner (sched(7), Linux 6.12)."""

from __future__ import annotations

import os
from struct import pack

from fakecgroup_mount.seccomp.syscalls import libc

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}.get(os.uname().machine)
_SLICE = 100_000  # ns, the shortest


def ask_for_short_slice() -> None:
    """Asks for this thread. An older kernel ignores it."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if _SCHED_SETATTR is not None:
        libc.syscall(_SCHED_SETATTR, 0, pack("=IIQiIQQQ", 48, 0, 0, nice, 0, _SLICE, 0, 0), 0)
