"""A timer that is a file descriptor (timerfd_create(2), which Python has from 3.13 on)."""

from __future__ import annotations

import ctypes
import os
from io import FileIO

_libc = ctypes.CDLL(None, use_errno=True)
_CLOCK_MONOTONIC = 1


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _Itimerspec(ctypes.Structure):
    _fields_ = [("interval", _Timespec), ("value", _Timespec)]


class Timer(FileIO):
    """Becomes readable when its time has come, and stays so until it is set again."""

    def __init__(self) -> None:
        descriptor = _libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        super().__init__(descriptor, "rb")

    def set(self, seconds: float) -> None:
        """Starts it anew: it becomes readable in so many seconds."""
        whole, part = divmod(max(1, round(seconds * 1e9)), 10**9)
        times = _Itimerspec(_Timespec(0, 0), _Timespec(whole, part))
        if _libc.timerfd_settime(self.fileno(), 0, ctypes.byref(times), None) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
