"""A timer as a file descriptor (timerfd_create(2)), for poll(2) beside other descriptors."""

from __future__ import annotations

import ctypes
import os
import time
from struct import pack

_NONBLOCK, _CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class TimerFd:
    """A one-shot timer. `fd` is readable from its expiry until `clear` or `set`."""

    def __init__(self) -> None:
        self.fd: int = _libc.timerfd_create(time.CLOCK_MONOTONIC, _NONBLOCK | _CLOEXEC)
        if self.fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def set(self, seconds: float) -> None:
        """Sets the timer to expire once, in `seconds`; 0 stops it."""
        whole = int(seconds)
        _libc.timerfd_settime(self.fd, 0, pack("=qqqq", 0, 0, whole, int((seconds - whole) * 1e9)), None)

    def clear(self) -> None:
        """Makes `fd` unreadable until the next expiry."""
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            pass
