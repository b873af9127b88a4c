"""What a trapped call's descriptors and paths lead to, seen from our side of the namespaces."""

from __future__ import annotations

import ctypes
import os
from errno import ELOOP, ENOENT, EXDEV
from struct import pack, unpack_from
from typing import NamedTuple

from fakecgroup.refuse import refuse

from ..pid_numbers import numbers_in
from . import syscalls

# include/uapi/linux/openat2.h
RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT = 0x04, 0x08, 0x10

PROC_SUPER_MAGIC = 0x9FA0
_PROC_ROOT_INO = 1  # fs/proc/internal.h
_AT_STATX_DONT_SYNC = 0x4000  # include/uapi/linux/fcntl.h
_STATX_MNT_ID_UNIQUE = 0x4000  # include/uapi/linux/stat.h
_STATX_SIZE, _STATX_INO, _STATX_DEV, _STATX_MNT_ID = 256, 32, 136, 144  # of a struct statx, and where in it
_STATFS_SIZE = 120  # bytes of a struct statfs; it begins with the type, a long


def descriptor(tid: int, fd: int) -> str:
    """The path of a descriptor of a thread; AT_FDCWD is its working directory."""
    return f"/proc/{tid}/cwd" if fd == syscalls.AT_FDCWD else f"/proc/{tid}/fd/{fd}"


def locate(tid: int, fd: int, path: bytes, *, follow: bool = True) -> int:
    """An O_PATH descriptor of ours for what `path`, seen from the thread's `fd`, leads to. Raises OSError.

    A link on the way to the thread's own part of /proc leads to ours, but where `path` itself names that; and behind
    one of those that lead anywhere (/proc/PID/cwd, /proc/PID/fd/N) an absolute link leads to what is there for us.
    """
    if not path:
        raise refuse(ENOENT)
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    path = own_numbers(tid, fd, path)
    base = os.fsencode(descriptor(tid, fd))
    if not path.startswith(b"/"):
        try:
            return _open_from(base, path, flags, RESOLVE_NO_SYMLINKS)
        except OSError as error:
            if error.errno != ELOOP:
                raise
        whole = os.readlink(base)
        if not _leads_to(tid, whole, base):
            return os.open(base + b"/" + path, flags)
        path = whole + b"/" + path
    root = b"/proc/%d/root" % tid
    try:
        return _open_from(root, path, flags, RESOLVE_IN_ROOT)
    except OSError as error:
        if error.errno != EXDEV:
            raise
    return os.open(root + path, flags)


def own_numbers(tid: int, fd: int, path: bytes) -> bytes:
    """A path with the thread's number instead of the first `self` or `thread-self` that is a link of /proc."""
    names = path.split(b"/")
    index = next((index for index, name in enumerate(names) if name in (b"self", b"thread-self")), None)
    if index is None:
        return path
    proc = locate(tid, fd, b"/".join(names[:index]) or (b"/" if index else b"."))
    try:
        found = os.fstat(proc)
        if found.st_ino != _PROC_ROOT_INO or statfs_type(proc) != PROC_SUPER_MAGIC:
            return path
        tgid, thread = thread_group(tid), tid
        if found.st_dev != os.stat("/proc").st_dev:
            numbers = numbers_in(f"/proc/self/fd/{proc}", tid)
            tgid, thread = numbers.number(tgid), numbers.number(tid)
    finally:
        os.close(proc)
    names[index] = b"%d" % tgid if names[index] == b"self" else b"%d/task/%d" % (tgid, thread)
    return b"/".join(names)


def locate_within(tid: int, fd: int, path: bytes, resolve: int) -> int:
    """As `locate`, within the limits that openat2(2) is given as `resolve`. Raises OSError."""
    numbered = own_numbers(tid, fd, path)
    if numbered != path and resolve & RESOLVE_NO_SYMLINKS:
        raise refuse(ELOOP)
    base = os.fsencode(descriptor(tid, fd))
    if path.startswith(b"/") and not resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT):
        base, numbered = b"/proc/%d/root" % tid, numbered.lstrip(b"/")
    return _open_from(base, numbered, os.O_PATH | os.O_CLOEXEC, resolve)


def _open_from(directory: bytes, path: bytes, flags: int, resolve: int) -> int:
    base = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    try:
        how = pack("=QQQ", flags, 0, resolve)
        return syscalls.syscall("openat2", base, path, how, len(how))
    finally:
        os.close(base)


def _leads_to(tid: int, path: bytes, place: bytes) -> bool:
    """Whether a path leads the thread to what is at a path of ours."""
    try:
        found = _open_from(b"/proc/%d/root" % tid, path, os.O_PATH | os.O_CLOEXEC, RESOLVE_IN_ROOT)
    except OSError:
        return False
    try:
        return os.path.samestat(os.fstat(found), os.stat(place))
    finally:
        os.close(found)


def statfs_type(fd: int) -> int:
    """The type of the file system that a descriptor is on. Raises OSError."""
    return int(unpack_from("=q", statfs(fd))[0])


def statfs(fd: int) -> bytearray:
    """The struct statfs of the file system that a descriptor is on. Raises OSError."""
    buffer = ctypes.create_string_buffer(_STATFS_SIZE)
    syscalls.syscall("fstatfs", fd, buffer)
    return bytearray(buffer.raw)


def identity(path: str) -> tuple[int, int]:
    """st_dev and st_ino of what is there; a file system that we serve ourselves is not asked. Raises OSError."""
    found = _statx(syscalls.AT_FDCWD, os.fsencode(path), _AT_STATX_DONT_SYNC)
    (inode,) = unpack_from("=Q", found, _STATX_INO)
    return os.makedev(*unpack_from("=II", found, _STATX_DEV)), inode


def unique_mount_id(fd: int) -> int:
    """The number of the mount that a descriptor of ours is on, which no other has ever had; 0 before Linux 6.8."""
    found = _statx(fd, b"", syscalls.AT_EMPTY_PATH, _STATX_MNT_ID_UNIQUE)
    (mask,) = unpack_from("=I", found)
    return int(unpack_from("=Q", found, _STATX_MNT_ID)[0]) if mask & _STATX_MNT_ID_UNIQUE else 0


def _statx(fd: int, path: bytes, flags: int, mask: int = 0) -> ctypes.Array[ctypes.c_char]:
    """The struct statx (statx(2)). Raises OSError."""
    found = ctypes.create_string_buffer(_STATX_SIZE)
    syscalls.syscall("statx", fd, path, flags, mask, found)
    return found


def signed(word: int) -> int:
    """A descriptor, from the register that it came in."""
    return (word & 0xFFFFFFFF) - ((word & 0x80000000) << 1)


def thread_group(tid: int) -> int:
    """The process that a thread is of. Raises OSError."""
    with open(f"/proc/{tid}/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"Tgid:"))


def children(tid: int) -> frozenset[bytes]:
    """The processes that a thread has forked, where the kernel tells (CONFIG_PROC_CHILDREN)."""
    try:
        with open(f"/proc/{tid}/task/{tid}/children", "rb") as file:
            return frozenset(file.read().split())
    except OSError:
        return frozenset()


def is_in_call(tid: int, number: int) -> bool:
    """Whether a thread may still be in a system call."""
    try:
        with open(f"/proc/{tid}/syscall", "rb") as file:
            return file.read().split()[0] in (b"running", b"%d" % number)
    except OSError:
        return False


class Credentials(NamedTuple):
    """Of a thread, as our user namespace has them: real, effective, saved and file system ids; what it may do."""

    uids: list[int]
    gids: list[int]
    groups: list[int]
    capabilities: int


def credentials(tid: int) -> Credentials:
    """Raises OSError."""
    with open(f"/proc/{tid}/status", "rb") as file:
        fields = dict(line.split(b":", 1) for line in file)
    uids, gids, groups = (list(map(int, fields[name].split())) for name in (b"Uid", b"Gid", b"Groups"))
    return Credentials(uids, gids, groups, int(fields[b"CapEff"], 16))
