"""The end of the tree's FUSE connection, when whoever serves it may have died in the middle of an answer.

A thread of the server that waits for one of the server's own answers cannot be killed (fs/fuse/dev.c,
request_wait_answer), and so the process would keep /dev/fuse, and wait, for ever. A forced unmount ends the wait.
"""

from __future__ import annotations

import os

from ..mountinfo import mounts
from . import syscalls

_MNT_FORCE, _MNT_DETACH = 1, 2


class Connection:
    """Of the sandbox that the process `first` is in. Raises OSError where that has ended."""

    def __init__(self, first: int) -> None:
        self._users = os.open(f"/proc/{first}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        self._mounts = os.open(f"/proc/{first}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def end(self) -> None:
        """Ends it, with the file systems of this kind that were mounted in the sandbox; others' the kernel lets be."""
        pid = os.fork()
        if pid == 0:
            try:
                self._unmount()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)

    def _unmount(self) -> None:
        syscalls.set_namespace(self._users, syscalls.CLONE_NEWUSER)
        syscalls.set_namespace(self._mounts, syscalls.CLONE_NEWNS)
        for mount in list(mounts()):
            if mount.ours:
                try:
                    syscalls.unmount(mount.point, _MNT_FORCE | _MNT_DETACH)
                except OSError:
                    pass  # EPERM, EINVAL: of another user namespace
