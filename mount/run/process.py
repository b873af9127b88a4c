"""What a trapped call's descriptors and paths lead to, seen from our side of the namespaces."""

from __future__ import annotations

import os
from struct import pack

from . import syscalls

_RESOLVE_IN_ROOT = 0x10
_NS_GET_PID_FROM_PIDNS = 0x8004B706  # Linux 6.11


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
        return syscalls.syscall(syscalls.OPENAT2, root, path, how, len(how))
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


def our_number(tid: int, pid: int) -> int:
    """What the pid that a thread has for a process is here; 0 for no such process. Raises OSError."""
    theirs = f"/proc/{tid}/ns/pid"
    if os.stat(theirs).st_ino == os.stat("/proc/self/ns/pid").st_ino:
        return pid
    fd = os.open(theirs, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = int(syscalls.libc.ioctl(fd, _NS_GET_PID_FROM_PIDNS, pid))
    finally:
        os.close(fd)
    return found if found > 0 else _search(os.stat(theirs).st_ino, pid)


def _search(namespace: int, pid: int) -> int:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                if os.stat(f"/proc/{name}/ns/pid").st_ino != namespace:
                    continue
                with open(f"/proc/{name}/status", "rb") as file:
                    if any(line.startswith(b"NSpid:") and int(line.split()[-1]) == pid for line in file):
                        return int(name)
            except OSError:
                continue
    return 0
