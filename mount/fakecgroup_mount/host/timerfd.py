"""A timer that is a file descriptor (timerfd_create(2)), to wait for beside others."""

from __future__ import annotations

import ctypes
import os
import time
from struct import pack

_NONBLOCK, _CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class TimerFd:
    """Readable from when the time that it was set to is over, until it is `clear` or set anew."""

    def __init__(self) -> None:
        self.fd: int = _libc.timerfd_create(time.CLOCK_MONOTONIC, _NONBLOCK | _CLOEXEC)
        if self.fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def set(self, seconds: float) -> None:
        """Goes off once, so many seconds from now; 0: not at all."""
        whole = int(seconds)
        _libc.timerfd_settime(self.fd, 0, pack("=qqqq", 0, 0, whole, int((seconds - whole) * 1e9)), None)

    def clear(self) -> None:
        try:
            os.read(self.fd, 8)
        except BlockingIOError:
            pass
