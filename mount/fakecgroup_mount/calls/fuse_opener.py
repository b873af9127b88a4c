"""Opens files of a file system that we serve ourselves, so that nobody waits for ever when we are killed.

Who waits for the answer to a FUSE request that a server has read cannot be killed (fs/fuse/dev.c,
request_wait_answer). Only the end of /dev/fuse ends that, and a process that dies keeps its files until its last thread
is gone. So the thread that opens has a table of files of its own, without /dev/fuse.
"""

from __future__ import annotations

import os
import socket
import threading
from errno import EIO
from struct import Struct

from fakecgroup.refuse import refuse
from fakecgroup_mount.seccomp import syscalls

_FLAGS = Struct("=I")  # of open(2), before the path
_ERRNO = Struct("=I")  # 0 with a descriptor
_MOST = 4096  # bytes of a message


class FuseOpener:
    """Opens paths that are relative to the descriptor `root`."""

    def __init__(self, root: int) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        threading.Thread(target=_serve, args=(theirs.detach(), root), daemon=True).start()

    def open(self, path: bytes, flags: int) -> int:
        """A new descriptor. Raises OSError."""
        with self._turn:
            self._ours.send(_FLAGS.pack(flags) + path)
            said, descriptors, _, _ = socket.recv_fds(self._ours, _ERRNO.size, 1)
        if not descriptors:
            (code,) = _ERRNO.unpack(said)
            raise refuse(code)
        os.set_inheritable(descriptors[0], False)
        return descriptors[0]


def _serve(number: int, root: int) -> None:
    syscalls.unshare(syscalls.CLONE_FILES)
    for fd in map(int, os.listdir("/proc/thread-self/fd")):
        if fd not in (number, root):
            try:
                os.close(fd)
            except OSError:
                pass  # the one that listed the others
    with socket.socket(fileno=number) as asked:
        while request := asked.recv(_MOST):
            (flags,) = _FLAGS.unpack_from(request)
            try:
                fd = os.open(request[_FLAGS.size :], flags, dir_fd=root)
            except OSError as error:
                asked.send(_ERRNO.pack(error.errno or EIO))
                continue
            socket.send_fds(asked, [_ERRNO.pack(0)], [fd])
            os.close(fd)
