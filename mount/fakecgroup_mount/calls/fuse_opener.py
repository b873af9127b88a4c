"""Opens files of a FUSE file system that this process serves, so that it can always be killed.

A thread that waits for the answer to a FUSE request, once the server has read it, cannot be killed
(fs/fuse/dev.c, request_wait_answer). Only the end of /dev/fuse ends the wait, and a dying process keeps its files until
its last thread is gone. So a thread with a file table of its own, without /dev/fuse, opens the files.
"""

from __future__ import annotations

import os
import socket
import threading
from errno import EIO
from struct import Struct

from fakecgroup.refuse import refuse
from fakecgroup_mount.host.file_table import unshare_files

_FLAGS = Struct("=I")  # flags of open(2); the path follows
_ERRNO = Struct("=I")  # 0 if a descriptor comes with it
_MOST = 4096  # bytes of a message


class FuseOpener:
    """Opens paths below the directory of the descriptor `root`."""

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
    unshare_files(number, root)
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
