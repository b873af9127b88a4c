"""System calls without a function in Python, and the numbers of system calls."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from struct import pack
from typing import TypeVar

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError

_Given = TypeVar("_Given")


class Architecture(NamedTuple):
    """A processor's AUDIT_ARCH_* (linux/audit.h) and system call numbers."""

    audit: int
    numbers: Mapping[str, int]

    def by_number(self, by_name: Mapping[str, _Given]) -> dict[int, _Given]:
        """The mapping by number instead of name. Calls that this processor lacks are left out."""
        return {self.numbers[name]: given for name, given in by_name.items() if name in self.numbers}


_EVERYWHERE = {  # since Linux 5.1 a new call has the same number on each
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "pidfd_open": 434,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "faccessat2": 439,
    "mount_setattr": 442,
    "fchmodat2": 452,
    "statmount": 457,
    "listmount": 458,
}
_X86_64 = {  # asm/unistd_64.h
    **_EVERYWHERE,
    "open": 2,
    "stat": 4,
    "lstat": 6,
    "rt_sigaction": 13,
    "ioctl": 16,
    "access": 21,
    "clone": 56,
    "fork": 57,
    "vfork": 58,
    "exit": 60,
    "kill": 62,
    "chmod": 90,
    "getrlimit": 97,
    "sysinfo": 99,
    "ptrace": 101,
    "setgroups": 116,
    "setfsuid": 122,
    "setfsgid": 123,
    "capset": 126,
    "statfs": 137,
    "fstatfs": 138,
    "setrlimit": 160,
    "mount": 165,
    "umount2": 166,
    "tkill": 200,
    "sched_setaffinity": 203,
    "sched_getaffinity": 204,
    "getdents64": 217,
    "exit_group": 231,
    "tgkill": 234,
    "openat": 257,
    "newfstatat": 262,
    "fchmodat": 268,
    "faccessat": 269,
    "unshare": 272,
    "prlimit64": 302,
    "name_to_handle_at": 303,
    "seccomp": 317,
    "bpf": 321,
    "statx": 332,
}
_GENERIC = {  # asm-generic/unistd.h, without open, fork and vfork
    **_EVERYWHERE,
    "ioctl": 29,
    "umount2": 39,
    "mount": 40,
    "statfs": 43,
    "fstatfs": 44,
    "faccessat": 48,
    "fchmodat": 53,
    "openat": 56,
    "getdents64": 61,
    "newfstatat": 79,
    "capset": 91,
    "exit": 93,
    "exit_group": 94,
    "unshare": 97,
    "sched_setaffinity": 122,
    "sched_getaffinity": 123,
    "kill": 129,
    "tkill": 130,
    "tgkill": 131,
    "rt_sigaction": 134,
    "ptrace": 117,
    "setfsuid": 151,
    "setfsgid": 152,
    "setgroups": 159,
    "getrlimit": 163,
    "setrlimit": 164,
    "sysinfo": 179,
    "clone": 220,
    "prlimit64": 261,
    "name_to_handle_at": 264,
    "seccomp": 277,
    "bpf": 280,
    "statx": 291,
}
ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, _X86_64),
    "aarch64": Architecture(0xC00000B7, _GENERIC),
}
"""By uname(2)'s machine. All are little-endian with 64 bits, and have the same structs and flags for our calls."""

HERE = ARCHITECTURES.get(os.uname().machine, Architecture(0, {}))
"""This machine's; without calls for any other machine."""

CLONE_VM = 0x00000100
CLONE_FS = 0x00000200
CLONE_FILES = 0x00000400
CLONE_SIGHAND = 0x00000800
CLONE_PARENT = 0x00008000
CLONE_THREAD = 0x00010000
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000

MNT_FORCE, MNT_DETACH = 1, 2
_PR_SET_DUMPABLE = 4
_OLDEST = (5, 14)  # SECCOMP_ADDFD_FLAG_SEND

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def check_machine() -> None:
    """Raises MountError if `run` does not support this processor or kernel."""
    _, _, release, _, machine = os.uname()
    narrow = sys.maxsize < 1 << 32
    if not HERE.numbers or narrow:
        known, here = " and ".join(ARCHITECTURES), machine + (" with a 32-bit Python" if narrow else "")
        raise MountError(f"it traps system calls by their numbers, and has those of {known} alone; this is {here}")
    version = tuple(int(part) for part in release.split("-")[0].split(".")[:2])
    if version < _OLDEST:
        raise MountError(f"Linux 5.14 or newer is needed (seccomp's SECCOMP_ADDFD_FLAG_SEND); this is {release}")


def syscall(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Makes a system call and returns its result. Raises OSError."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return _checked(libc.syscall(ctypes.c_long(HERE.numbers[name]), *words))


def fork_as(numbers: list[int]) -> int:
    """fork(2) of a child with these pids in its pid namespaces, the innermost first (clone3(2), set_tid). Only for a
    process with one thread. Raises OSError.
    """
    tids = ctypes.create_string_buffer(pack(f"={len(numbers)}i", *numbers))
    arguments = pack("=10Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tids), len(numbers))
    return syscall("clone3", arguments, len(arguments))


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    _checked(libc.unshare(flags))


def set_namespace(fd: int, kind: int) -> None:
    """setns(2). Raises OSError."""
    _checked(libc.setns(fd, kind))


def forbid_tracing() -> None:
    """Makes this process undumpable (prctl(2), PR_SET_DUMPABLE). Then tracing it takes rights in the user namespace in
    which it was executed. The root of the namespace that it has joined has none.
    """
    _checked(libc.prctl(_PR_SET_DUMPABLE, 0))


def mount(source: str | None, target: str, fstype: str | None, flags: int, data: str | None = None) -> None:
    """mount(2). Raises OSError."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, fstype, data)]
    if libc.mount(*words[:3], ctypes.c_ulong(flags), words[3]):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def mount_as_given(source: bytes | None, target: bytes, fstype: bytes, flags: int, data: bytes | None) -> None:
    """mount(2) with unchanged arguments. Raises OSError."""
    _checked(libc.mount(source, target, fstype, ctypes.c_ulong(flags), data))


def unmount(path: str, flags: int = MNT_DETACH) -> None:
    """umount2(2), by default lazily (MNT_DETACH). Raises OSError."""
    if libc.umount2(os.fsencode(path), flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
