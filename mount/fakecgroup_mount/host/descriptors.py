"""The open files of a caller, for v1's cgroup.event_control, which takes two descriptor numbers."""

from __future__ import annotations

import ctypes
import os
import select
from collections.abc import Callable, Iterable
from errno import EBADF, ENOMEM

from fakecgroup import OpenFile
from fakecgroup.credentials.caller import EventFd
from fakecgroup.refuse import refuse
from fakecgroup_mount.host.mountinfo import mounts
from fakecgroup_mount.host.shortage import is_shortage, may_keep

_PIDFD_GETFD = 438  # on every architecture; Linux 5.6
_EVENTFD = "anon_inode:[eventfd]"
_libc = ctypes.CDLL(None, use_errno=True)


class Descriptors:
    """The open files of programs that use a mount. `ours` gives the model's open files, `device` the mount's device
    ("0:42") or None once it is unmounted.

    Nothing here uses the mount itself, whose only server waits for the result. /proc/PID/fdinfo identifies a file of
    the mount by its mount and inode number (Linux 5.14).
    """

    def __init__(self, device: Callable[[], str | None], ours: Callable[[], Iterable[OpenFile]]) -> None:
        self._device = device
        self._ours = ours

    def of(self, tid: int) -> Callable[[int], object]:
        """`Caller.files` for a thread."""
        return lambda descriptor: self._find(tid, descriptor)

    def _find(self, tid: int, descriptor: int) -> object:
        """The model's inode, an EventFd, or the link's text for any other file. None if it is not open, or if the
        mounter may not see the process's files (ptrace(2), access mode checking).

        Raises ENOMEM at the limit of open files.
        """
        try:
            link = os.readlink(f"/proc/{tid}/fd/{descriptor}")
            if link == _EVENTFD:
                return EventFd(_Signal(duplicate(_tgid(tid), descriptor)))
            inode = self._inode(tid, descriptor)
        except OSError as error:
            if is_shortage(error):
                raise refuse(ENOMEM) from None
            return None
        return link if inode is None else inode

    def _inode(self, tid: int, descriptor: int) -> object:
        """The model's inode; None for a file of another file system. Raises OSError if it is not open."""
        with open(f"/proc/{tid}/fdinfo/{descriptor}") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        if int(fields["flags"], 8) & os.O_PATH:
            raise refuse(EBADF)
        device = self._device()
        number = int(fields["mnt_id"])
        if device is None or "ino" not in fields:
            return None
        if not any(one.number == number and one.device == device for one in mounts(tid)):
            return None
        ino = int(fields["ino"])
        return next((file.inode for file in self._ours() if file.inode.ino == ino), None)


class _Signal:
    """Adds 1 to an eventfd when called. Closes it when it is garbage."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __call__(self) -> None:
        ready = select.poll()
        ready.register(self._fd, select.POLLOUT)
        if ready.poll(0):  # a full counter does not change (fs/eventfd.c, eventfd_signal)
            os.eventfd_write(self._fd, 1)

    def __del__(self) -> None:
        os.close(self._fd)


def _tgid(tid: int) -> int:
    with open(f"/proc/{tid}/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"Tgid:"))


def duplicate(tgid: int, descriptor: int) -> int:
    """A duplicate of another process's descriptor (pidfd_getfd(2)). Raises OSError."""
    pidfd = os.pidfd_open(tgid)
    try:
        fd = int(_libc.syscall(_PIDFD_GETFD, pidfd, descriptor, 0))
    finally:
        os.close(pidfd)
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    if not may_keep(fd):
        os.close(fd)
        raise refuse(ENOMEM)
    return fd
