"""Processes that share an address space, as after vfork(2) and with CLONE_VM."""

from __future__ import annotations

import ctypes
import os

_KCMP_VM = 1
_NUMBER = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)  # of kcmp(2), for which the C library has no function
_libc = ctypes.CDLL(None)


def shares_memory(pid: int, other: int) -> bool:
    """Whether two processes share their memory; False if we may not compare them (kcmp(2), ptrace(2))."""
    if _NUMBER is None:
        return False
    words = (ctypes.c_long(word) for word in (_NUMBER, pid, other, _KCMP_VM, 0, 0))
    return bool(_libc.syscall(*words) == 0)
