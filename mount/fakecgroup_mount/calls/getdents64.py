"""getdents64(2) of /proc: real processes outside of the sandbox are left out, simulated processes follow the others.

Which of them come next is in the position of the open file, as for a kernel.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from ctypes import create_string_buffer
from errno import EINVAL
from struct import Struct

from fakecgroup import JoinedProcesses
from fakecgroup.tasks.tid import FIRST_SIMULATED
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Later
from fakecgroup_mount.seccomp.process import signed, thread_group
from fakecgroup_mount.seccomp.user_namespaces import Inside, namespace_of

_PROC_ROOT_INO = 1  # fs/proc/internal.h
_OURS = 0x70000000  # a position behind all real processes, and before the longest file of /proc (MAX_NON_LFS)
_ENTRY = Struct("=QqHB")  # struct linux_dirent64 up to its name: d_ino d_off d_reclen d_type
_INODES = 1 << 32  # and up: the inode numbers of the directories
_DIRECTORY = 4  # DT_DIR
_MOST = 4096  # bytes of one answer, as `Memory.write` takes them
_POSITION = re.compile(r"^pos:\s+(\d+)$", re.M)


class Getdents64Call:
    """Lists /proc, of our own pid namespace, for the sandbox of process `first`."""

    def __init__(self, tree: MountedTree, processes: JoinedProcesses, first: int) -> None:
        self._tree = tree
        self._processes = processes
        self._sandbox = namespace_of(first)

    def getdents64(self, call: Call) -> Answer | Later:
        """Of any other directory the kernel itself answers."""
        fd = signed(call.arguments[0])
        try:
            if not self._processes.begun or os.readlink(f"/proc/{call.tid}/fd/{fd}") != "/proc":
                return CONTINUE
        except OSError:
            return CONTINUE
        return Later(lambda call: self._list(call, fd))

    def _list(self, call: Call, fd: int) -> Answer:
        """Raises EINVAL for a buffer without room for an entry."""
        found, ours = os.stat(f"/proc/{call.tid}/fd/{fd}"), os.stat("/proc")
        if (found.st_dev, found.st_ino) != (ours.st_dev, _PROC_ROOT_INO) or not call.waits():
            return CONTINUE
        size = min(call.arguments[2] & 0xFFFFFFFF, _MOST)
        shared = _shared(call.tid, fd)
        try:
            position = _position(shared)
            data = self._real_entries(shared, size) if position < _OURS else b""
            if not data:
                data, position = self._entries(max(position, _OURS), size)
                os.lseek(shared, position, os.SEEK_SET)
        finally:
            os.close(shared)
        if data:
            call.memory.write(call.tid, call.arguments[1], data)
        return len(data)

    def _real_entries(self, fd: int, size: int) -> bytes:
        """The next entries of the kernel's that are shown; empty behind the last one. Raises OSError."""
        inside, shown = Inside(self._sandbox), b""
        buffer = create_string_buffer(size)
        while not shown and (length := syscalls.syscall("getdents64", fd, buffer, size)):
            for name, entry in _split(buffer.raw[:length]):
                if not name.isdigit() or (name.decode() in inside and int(name) != os.getpid()):
                    shown += entry
        return shown

    def _entries(self, position: int, size: int) -> tuple[bytes, int]:
        """The entries from a position on that have room, and the position behind them."""
        data = b""
        for pid in self._pids(position):
            entry, behind = _entry(pid), _behind(pid)
            if len(data) + len(entry) > size:
                if not data:
                    raise OSError(EINVAL, os.strerror(EINVAL))
                break
            data, position = data + entry, behind
        return data, position

    def _pids(self, position: int) -> Iterator[int]:
        with self._tree.lock:
            pids = sorted(self._processes.simulated.all())
        return (pid for pid in pids if _behind(pid) > position)


def _split(entries: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each entry with its name."""
    at = 0
    while at < len(entries):
        length = _ENTRY.unpack_from(entries, at)[2]
        entry = entries[at : at + length]
        yield entry[_ENTRY.size :].partition(b"\0")[0], entry
        at += length


def _behind(pid: int) -> int:
    return _OURS + pid - FIRST_SIMULATED + 1


def _entry(pid: int) -> bytes:
    name = b"%d\0" % pid
    length = -(-(_ENTRY.size + len(name)) // 8) * 8
    return (_ENTRY.pack(_INODES + pid, _behind(pid), length, _DIRECTORY) + name).ljust(length, b"\0")


def _shared(tid: int, fd: int) -> int:
    """A duplicate of a thread's descriptor, with the same position (pidfd_getfd(2)). Raises OSError."""
    process = os.pidfd_open(thread_group(tid))
    try:
        return syscalls.syscall("pidfd_getfd", process, fd, 0)
    finally:
        os.close(process)


def _position(fd: int) -> int:
    with open(f"/proc/self/fdinfo/{fd}") as file:
        found = _POSITION.search(file.read())
    return int(found[1]) if found else 0
