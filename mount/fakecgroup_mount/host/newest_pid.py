"""The last pid that was given out, and which pids came after one."""

from __future__ import annotations

import os
from collections.abc import Sequence

FILES = ("/proc/sys/kernel/ns_last_pid", "/proc/loadavg")
"""The files whose last word it is (proc(5)). The first is read faster, but needs CONFIG_CHECKPOINT_RESTORE."""

_MOST = 256  # bytes of such a file, at most


class NewestPid:
    """Reads the first of `files` that there is. It stays open: that is one system call."""

    def __init__(self, files: Sequence[str] = FILES) -> None:
        self._file = os.open(next(filter(os.path.exists, files)), os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> int:
        """The last pid that was given out in this pid namespace."""
        return int(os.pread(self._file, _MOST, 0).rpartition(b" ")[2])

    def is_since(self, pid: int, then: int) -> bool:
        """Whether `pid` was given out after `then` was the last one. The kernel gives them out in a circle
        (idr_alloc_cyclic).
        """
        now = self.read()
        return then < pid <= now if then <= now else pid > then or pid <= now
