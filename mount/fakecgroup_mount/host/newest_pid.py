"""The last pid that was given out, and which pids came after one."""

from __future__ import annotations

import os

_MOST = 256  # bytes of /proc/loadavg, at most


class NewestPid:
    """Reads the last field of /proc/loadavg (proc(5)), which stays open: that is one system call."""

    def __init__(self) -> None:
        self._loadavg = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> int:
        """The last pid that was given out in this pid namespace."""
        return int(os.pread(self._loadavg, _MOST, 0).rpartition(b" ")[2])

    def is_since(self, pid: int, then: int) -> bool:
        """Whether `pid` was given out after `then` was the last one. The kernel gives them out in a circle
        (idr_alloc_cyclic).
        """
        now = self.read()
        return then < pid <= now if then <= now else pid > then or pid <= now
