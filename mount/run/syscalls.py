"""System calls that Python has no function for, and their numbers on x86-64."""

from __future__ import annotations

import ctypes
import os
import platform

from ..errors import MountError

AUDIT_ARCH = 0xC000003E  # AUDIT_ARCH_X86_64
X32_BIT = 0x40000000

OPEN = 2
RT_SIGACTION = 13
CLONE = 56
FORK = 57
VFORK = 58
GETRLIMIT = 97
STATFS = 137
FSTATFS = 138
SETRLIMIT = 160
MOUNT = 165
OPENAT = 257
UNSHARE = 272
PRLIMIT64 = 302
NAME_TO_HANDLE_AT = 303
SETNS = 308
SECCOMP = 317
BPF = 321
IO_URING_SETUP = 425
OPEN_TREE = 428
MOVE_MOUNT = 429
FSOPEN = 430
CLONE3 = 435
OPENAT2 = 437
MOUNT_SETATTR = 442

CLONE_VM = 0x00000100
CLONE_FS = 0x00000200
CLONE_SIGHAND = 0x00000800
CLONE_PARENT = 0x00008000
CLONE_THREAD = 0x00010000
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000

_MNT_DETACH = 2
_OLDEST = (5, 14)  # SECCOMP_ADDFD_FLAG_SEND

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def check_machine() -> None:
    """Raises MountError where `run` is not prepared for this processor or this kernel."""
    machine, release = platform.machine(), platform.release()
    if machine != "x86_64":
        raise MountError(f"it traps system calls by their numbers, and has those of x86_64 alone; this is {machine}")
    version = tuple(int(part) for part in release.split("-")[0].split(".")[:2])
    if version < _OLDEST:
        raise MountError(f"Linux 5.14 or newer is needed (seccomp's SECCOMP_ADDFD_FLAG_SEND); this is {release}")


def syscall(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """The call's result. Raises OSError."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    syscall(UNSHARE, flags)


def enter_user_namespace(pid: int) -> None:
    """Joins the user namespace of a process, from a process with one thread (setns(2)). Raises OSError."""
    fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscall(SETNS, fd, CLONE_NEWUSER)
    finally:
        os.close(fd)


def mount(source: str | None, target: str, fstype: str | None, flags: int, data: str | None = None) -> None:
    """mount(2). Raises OSError."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, fstype, data)]
    if libc.mount(*words[:3], ctypes.c_ulong(flags), words[3]):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def unmount(path: str) -> None:
    """umount2(2), lazily. Raises OSError."""
    if libc.umount2(os.fsencode(path), _MNT_DETACH):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
