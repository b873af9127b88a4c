"""System calls that Python and the shell have no word for, made by programs of the tests in front of a tree."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

NAME_TO_HANDLE_AT, FSOPEN, CLONE3, IO_URING_SETUP = 303, 430, 435, 425
CLONE_INTO_CGROUP = 0x200000000
SIGCHLD = 17
libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    """The result, or the negative errno."""
    result = int(libc.syscall(number, *arguments))
    return -ctypes.get_errno() if result < 0 else result


def handle(path: str, size: int) -> None:
    """The result, size and type of a file handle, and whether it is the inode number."""
    buffer = ctypes.create_string_buffer(struct.pack("=Ii", size, 0) + bytes(64))
    mount = ctypes.c_int()
    result = call(NAME_TO_HANDLE_AT, -100, path.encode(), buffer, ctypes.byref(mount), 0)
    length, kind, ino = struct.unpack_from("=IiQ", buffer)
    print(result, length, hex(kind), ino == os.stat(path).st_ino)


def clone_into(path: str, flags: str = "0") -> None:
    """What a child that is started in a cgroup says of itself, or the negative errno; and where the parent is."""
    fd = os.open(path, int(flags) | os.O_RDONLY)
    arguments = ctypes.create_string_buffer(
        struct.pack("=11Q", CLONE_INTO_CGROUP, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, fd), 88
    )
    result = call(CLONE3, arguments, ctypes.c_size_t(88))
    if result == 0:
        os.execvp("cat", ["cat", "/proc/self/cgroup"])
    if result < 0:
        print(result)
    else:
        os.waitpid(result, 0)
    with open("/proc/self/cgroup") as file:
        print(file.read(), end="")
    print(hex(struct.unpack_from("=Q", arguments)[0]))


def fsopen(name: str) -> None:
    """Whether there is the new way to mount a file system."""
    result = call(FSOPEN, name.encode(), 0)
    print(result if result < 0 else "there is")


def io_uring() -> None:
    print(call(IO_URING_SETUP, 1, None))


if __name__ == "__main__":
    {"handle": lambda path, size: handle(path, int(size)), "clone": clone_into, "fsopen": fsopen, "uring": io_uring}[
        sys.argv[1]
    ](*sys.argv[2:])
