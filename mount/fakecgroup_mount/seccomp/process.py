"""Threads of the sandbox and descriptors, as our namespaces show them."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable
from struct import unpack_from

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.seccomp import syscalls

PROC_SUPER_MAGIC = 0x9FA0
_CPUCLOCK_SCHED = 2  # include/linux/posix-timers.h
_LINKS = 2  # of a directory; /proc/PID/task has one more for each thread
A_FORK = 50_000_000  # ns on a CPU; any fork takes less
_AT_STATX_DONT_SYNC = 0x4000  # include/uapi/linux/fcntl.h
_STATX_MNT_ID_UNIQUE = 0x4000  # include/uapi/linux/stat.h
_STATX_SIZE, _STATX_INO, _STATX_DEV, _STATX_MNT_ID = 256, 32, 136, 144  # of a struct statx, and where in it
_STATFS_SIZE = 120  # bytes of a struct statfs; it begins with the type, a long


def statfs_type(fd: int) -> int:
    """The type of the file system that a descriptor is on. Raises OSError."""
    return int(unpack_from("=q", statfs(fd))[0])


def statfs(fd: int) -> bytearray:
    """The struct statfs of the file system that a descriptor is on. Raises OSError."""
    buffer = ctypes.create_string_buffer(_STATFS_SIZE)
    syscalls.syscall("fstatfs", fd, buffer)
    return bytearray(buffer.raw)


def identity(path: str) -> tuple[int, int]:
    """st_dev and st_ino at a path, without a request to a FUSE file system (AT_STATX_DONT_SYNC). Raises OSError."""
    found = _statx(syscalls.AT_FDCWD, os.fsencode(path), _AT_STATX_DONT_SYNC)
    (inode,) = unpack_from("=Q", found, _STATX_INO)
    return os.makedev(*unpack_from("=II", found, _STATX_DEV)), inode


def unique_mount_id(fd: int) -> int:
    """The unique id of a descriptor's mount, which is never used again (STATX_MNT_ID_UNIQUE); 0 before Linux 6.8."""
    found = _statx(fd, b"", syscalls.AT_EMPTY_PATH, _STATX_MNT_ID_UNIQUE)
    (mask,) = unpack_from("=I", found)
    return int(unpack_from("=Q", found, _STATX_MNT_ID)[0]) if mask & _STATX_MNT_ID_UNIQUE else 0


def _statx(fd: int, path: bytes, flags: int, mask: int = 0) -> ctypes.Array[ctypes.c_char]:
    """The struct statx (statx(2)). Raises OSError."""
    found = ctypes.create_string_buffer(_STATX_SIZE)
    syscalls.syscall("statx", fd, path, flags, mask, found)
    return found


def signed(word: int) -> int:
    """The signed int in the low half of a register."""
    return (word & 0xFFFFFFFF) - ((word & 0x80000000) << 1)


def thread_group(tid: int) -> int:
    """The tgid of a thread. Raises OSError."""
    with open(f"/proc/{tid}/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"Tgid:"))


def children(tid: int) -> frozenset[bytes]:
    """The child processes of a thread; empty without CONFIG_PROC_CHILDREN."""
    try:
        with open(f"/proc/{tid}/task/{tid}/children", "rb") as file:
            return frozenset(file.read().split())
    except OSError:
        return frozenset()


def ran(tid: int) -> int:
    """The CPU time of a thread in ns (Documentation/scheduler/sched-stats.rst); 0 if it is gone."""
    try:
        with open(f"/proc/{tid}/schedstat", "rb", buffering=0) as file:
            return int(file.read(64).split()[0])
    except OSError:
        return 0


def process_ran(tid: int) -> int | None:
    """The CPU time of all threads of a process in ns; None if it is gone, or if `tid` is not its leader."""
    try:
        return time.clock_gettime_ns(~tid << 3 | _CPUCLOCK_SCHED)  # as clock_getcpuclockid(3) has it
    except OSError:
        return None


def is_single_threaded(tgid: int) -> bool:
    """Whether a process has one thread; False if it is gone."""
    try:
        return os.stat(f"/proc/{tgid}/task").st_nlink == _LINKS + 1
    except OSError:
        return False


def is_in_call(tid: int, number: int) -> bool:
    """Whether a thread may still be in the system call with this number."""
    try:
        with open(f"/proc/{tid}/syscall", "rb") as file:
            return file.read().split()[0] in (b"running", b"%d" % number)
    except OSError:
        return False


def is_in_one_of(tid: int, names: Iterable[str]) -> bool:
    """Whether a thread that waits in a system call is in one of those with these names, as far as /proc tells."""
    try:
        with open(f"/proc/{tid}/syscall", "rb") as file:
            number = file.read().split()[0]
    except OSError:
        return False
    return number in [b"%d" % syscalls.HERE.numbers[name] for name in names if name in syscalls.HERE.numbers]


class TaskCredentials(NamedTuple):
    """A thread's ids (real, effective, saved, file system), groups and effective capabilities, as we see them."""

    uids: list[int]
    gids: list[int]
    groups: list[int]
    capabilities: int


def credentials(tid: int) -> TaskCredentials:
    """Reads them from /proc/TID/status. Raises OSError."""
    with open(f"/proc/{tid}/status", "rb") as file:
        fields = dict(line.split(b":", 1) for line in file)
    uids, gids, groups = (list(map(int, fields[name].split())) for name in (b"Uid", b"Gid", b"Groups"))
    return TaskCredentials(uids, gids, groups, int(fields[b"CapEff"], 16))
