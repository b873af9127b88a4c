"""A file descriptor table of its own, for a thread that uses a file system which its own process serves.

A thread that waits for a FUSE answer cannot be killed (fs/fuse/dev.c, request_wait_answer). Only the end of /dev/fuse
ends its wait. If it shared the table with /dev/fuse in it, a killed daemon would keep /dev/fuse open and wait for ever,
and so would all users of the mount.
"""

from __future__ import annotations

import ctypes
import os

_CLONE_FILES = 0x00000400
_libc = ctypes.CDLL(None, use_errno=True)


def unshare_files(*keep: int) -> None:
    """Gives the calling thread a descriptor table with the standard files and `keep` (unshare(2), CLONE_FILES).

    Where that is forbidden, the thread goes on with the shared table.
    """
    if _libc.unshare(_CLONE_FILES):
        return
    for fd in map(int, os.listdir("/proc/thread-self/fd")):
        if fd > 2 and fd not in keep:
            try:
                os.close(fd)
            except OSError:
                pass  # the descriptor of the listing itself
