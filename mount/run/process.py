"""What a trapped call's descriptors and paths lead to, seen from our side of the namespaces."""

from __future__ import annotations

import os
from struct import pack
from typing import NamedTuple

from . import syscalls

_RESOLVE_IN_ROOT = 0x10


def descriptor(tid: int, fd: int) -> str:
    """The path of a descriptor of a thread; AT_FDCWD is its working directory."""
    return f"/proc/{tid}/cwd" if fd == syscalls.AT_FDCWD else f"/proc/{tid}/fd/{fd}"


def locate(tid: int, fd: int, path: bytes, *, follow: bool = True) -> int:
    """An O_PATH descriptor of ours for what `path`, seen from the thread's `fd`, leads to. Raises OSError.

    A link in a relative path that leads to an absolute one is followed in our own root.
    """
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    own = own_proc(tid, path)
    if own is not None:
        return os.open(own, flags)
    if not path.startswith(b"/"):
        return os.open(os.fsencode(descriptor(tid, fd)) + b"/" + path, flags)
    root = os.open(f"/proc/{tid}/root", os.O_PATH | os.O_CLOEXEC)
    try:
        how = pack("=QQQ", flags, 0, _RESOLVE_IN_ROOT)
        return syscalls.syscall("openat2", root, path, how, len(how))
    finally:
        os.close(root)


def own_proc(tid: int, path: bytes) -> bytes | None:
    """In our own /proc, a path in the thread's /proc; None for any other path."""
    for own in (b"/proc/self/", b"/proc/thread-self/"):
        if path.startswith(own):
            return b"/proc/%d/" % tid + path[len(own) :]
    return path if path.startswith(b"/proc/") else None


def signed(word: int) -> int:
    """A descriptor, from the register that it came in."""
    return (word & 0xFFFFFFFF) - ((word & 0x80000000) << 1)


def thread_group(tid: int) -> int:
    """The process that a thread is of. Raises OSError."""
    with open(f"/proc/{tid}/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"Tgid:"))


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
