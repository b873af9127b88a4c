"""Processes that share an address space, as after vfork(2) and with CLONE_VM."""

from __future__ import annotations

import ctypes
import os

_KCMP_VM = 1
_NUMBER = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)  # of kcmp(2), for which the C library has no function
_ORDERS = {0: 0, 1: -1, 2: 1}
_libc = ctypes.CDLL(None)


def order_of_memory(pid: int, other: int) -> int | None:
    """0 if two processes share their memory, else -1 or 1, which orders processes as long as they run; None if we may
    not compare them, or one is gone (kcmp(2), ptrace(2)).
    """
    if _NUMBER is None:
        return None
    words = (ctypes.c_long(word) for word in (_NUMBER, pid, other, _KCMP_VM, 0, 0))
    return _ORDERS.get(_libc.syscall(*words))


def shares_memory(pid: int, other: int) -> bool:
    """Whether two processes share their memory; False if that is not known."""
    return order_of_memory(pid, other) == 0
