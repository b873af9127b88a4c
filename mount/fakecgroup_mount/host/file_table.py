"""A table of files of its own, for a thread that uses a file system which this process serves itself.

Who waits for an answer that the server has begun with cannot be killed (fs/fuse/dev.c, request_wait_answer): only the
end of /dev/fuse ends that. A process that is killed keeps its files until the last thread that has them is gone, and so
its callers would wait for ever, too.
"""

from __future__ import annotations

import ctypes
import os

_CLONE_FILES = 0x00000400
_libc = ctypes.CDLL(None, use_errno=True)


def unshare_files(*keep: int) -> None:
    """From now on the calling thread has files of its own: the standard ones and `keep`. Where that is forbidden, it
    has those of all.
    """
    if _libc.unshare(_CLONE_FILES):
        return
    for fd in map(int, os.listdir("/proc/thread-self/fd")):
        if fd > 2 and fd not in keep:
            try:
                os.close(fd)
            except OSError:
                pass  # the one that listed the others
