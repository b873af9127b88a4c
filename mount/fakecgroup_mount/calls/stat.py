"""stat(2), lstat(2), newfstatat(2), statx(2): of the directory and the files of a simulated process in /proc.

What they say is taken from a process of ours, but for owner and inode number.
"""

from __future__ import annotations

import ctypes
import os
from struct import Struct

from fakecgroup_mount.calls.simulated_files import SimulatedFiles
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Later
from fakecgroup_mount.seccomp.process import signed
from fakecgroup_mount.seccomp.user_namespaces import namespace_of

_STAT = {"x86_64": (144, 8, 28), "aarch64": (128, 8, 24)}  # of a struct stat: bytes, where st_ino and st_uid are
_STATX, _STATX_INO, _STATX_UID = 256, 32, 20
_INODES = 1 << 32  # and up: the inode numbers, as in `getdents64`
_STRIDE = 1 << 24  # between the numbers of two files of a process
_NOBODY = 65534  # the id of whom a user namespace does not know
_INO, _IDS = Struct("=Q"), Struct("=II")


class StatCalls:
    """Answers for simulated processes of the sandbox of process `first`."""

    def __init__(self, files: SimulatedFiles, first: int) -> None:
        self._files = files
        self._sandbox = namespace_of(first)

    def stat(self, call: Call) -> Answer | Later:
        """stat(2)."""
        return self._stat(call, syscalls.AT_FDCWD, call.arguments[0], call.arguments[1])

    def lstat(self, call: Call) -> Answer | Later:
        """lstat(2)."""
        return self._stat(call, syscalls.AT_FDCWD, call.arguments[0], call.arguments[1])

    def newfstatat(self, call: Call) -> Answer | Later:
        """newfstatat(2)."""
        return self._stat(call, signed(call.arguments[0]), call.arguments[1], call.arguments[2])

    def statx(self, call: Call) -> Answer | Later:
        """statx(2)."""
        return self._stat(call, signed(call.arguments[0]), call.arguments[1], call.arguments[4], extended=True)

    def _stat(self, call: Call, fd: int, address: int, result: int, *, extended: bool = False) -> Answer | Later:
        if not self._files.begun:
            return CONTINUE
        try:
            path = call.memory.read_text(call.tid, address)
        except OSError:
            return CONTINUE
        if not self._files.may_be_of_task(path):
            return CONTINUE
        return Later(lambda call: self._answer(call, fd, path, result, extended))

    def _answer(self, call: Call, fd: int, path: bytes, result: int, extended: bool) -> Answer:
        try:
            found = self._files.find_any(call.tid, fd, path)
        except OSError:
            return CONTINUE
        if found is None or not call.waits():
            return CONTINUE
        name, pid, number = found
        like = b"/proc/self/" + name
        owner = 0 if namespace_of(call.tid) == self._sandbox else _NOBODY
        size, ino_at, uid_at = (_STATX, _STATX_INO, _STATX_UID) if extended else _STAT[os.uname().machine]
        buffer = ctypes.create_string_buffer(size)
        if extended:
            syscalls.syscall("statx", syscalls.AT_FDCWD, like, 0, call.arguments[3] & 0xFFFFFFFF, buffer)
        else:
            syscalls.syscall("newfstatat", syscalls.AT_FDCWD, like, buffer, 0)
        _INO.pack_into(buffer, ino_at, _INODES + number * _STRIDE + pid)
        _IDS.pack_into(buffer, uid_at, owner, owner)
        call.memory.write(call.tid, result, buffer.raw)
        return 0
