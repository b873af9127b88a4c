"""Makes system calls that neither Python nor the shell has a command for."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import NoReturn

CLONE3, IO_URING_SETUP = 435, 425
CLONE_INTO_CGROUP = 0x200000000
SIGCHLD = 17
libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    """The result, or the negative errno."""
    return checked(libc.syscall(number, *arguments))


def checked(result: int) -> int:
    return -ctypes.get_errno() if result < 0 else result


def handle(path: str, size: int, flags: int = 0) -> None:
    """Prints the result, size and type of a file handle, and how far the number in it is from the inode's.

    With AT_HANDLE_MNT_ID_UNIQUE it also prints the mount's number, where the kernel counts unique ones from 2^31 on.
    """
    buffer = ctypes.create_string_buffer(struct.pack("=Ii", size, 0) + bytes(64))
    mount = ctypes.c_uint64()
    result = checked(libc.name_to_handle_at(-100, path.encode(), buffer, ctypes.byref(mount), flags))
    length, kind, ino = struct.unpack_from("=IiQ", buffer)
    distance = [ino - os.stat(path).st_ino] if result == 0 else []
    print(result, length, hex(kind), *distance, *([mount.value] if flags & 1 else []))


def clone3(fd: int, child: Callable[[], NoReturn]) -> tuple[int, ctypes.Array[ctypes.c_char]]:
    """The result of a clone into the cgroup that a descriptor is of, and its arguments."""
    arguments = ctypes.create_string_buffer(
        struct.pack("=11Q", CLONE_INTO_CGROUP, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, fd), 88
    )
    result = call(CLONE3, arguments, ctypes.c_size_t(88))
    if result == 0:
        child()
    return result, arguments


def clone_into(path: str, flags: str = "0") -> None:
    """What a child that is started in a cgroup says of itself, or the negative errno; where the parent is; what a
    second child says that is made of the same arguments.
    """
    fd = os.open(path, int(flags) | os.O_RDONLY)

    def show() -> NoReturn:
        os.execvp("cat", ["cat", "/proc/self/cgroup"])

    result, arguments = clone3(fd, show)
    tell(result)
    with open("/proc/self/cgroup") as file:
        print(file.read(), end="", flush=True)
    tell(call(CLONE3, arguments, ctypes.c_size_t(88)) or show())


def tell(result: int) -> None:
    """The negative errno of a clone; else waits for the child."""
    if result < 0:
        print(result)
    else:
        os.waitpid(result, 0)


def clone_busy(path: str) -> None:
    """Waits for a child in a cgroup that uses 50 ms of CPU time."""

    def use() -> NoReturn:
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
        os._exit(0)

    tell(clone3(os.open(path, os.O_PATH), use)[0])


def clone_many(path: str, count: str) -> None:
    """Starts children in a cgroup and forks others right after; prints how many are in it, and the odd ones."""
    fd = os.open(path, os.O_PATH)
    children = []
    for _ in range(int(count)):
        children.append(clone3(fd, sleep)[0])
        os.fork() or sleep()
    with open(f"{path}/cgroup.procs") as file:
        inside = {int(line) for line in file}
    print(len(inside), sorted(inside ^ set(children)))


def clone_and_forget(path: str) -> None:
    """Prints how many bytes change in memory that held the arguments of a clone and is used for something else.

    First as free memory, whose first word is an allocator's, and then all of it.
    """
    fd = os.open(path, os.O_PATH)
    _, arguments = clone3(fd, sleep)
    for content in (bytes(8) + arguments.raw[8:], b"\1" * 88):
        ctypes.memmove(arguments, content, 88)
        time.sleep(0.2)
        print(sum(now != then for now, then in zip(arguments.raw, content, strict=True)))


def clone_into_removed(path: str) -> None:
    """The result of a clone into a cgroup that is no more."""
    os.mkdir(path)
    fd = os.open(path, os.O_PATH)
    os.rmdir(path)
    print(clone3(fd, sleep)[0])


def sleep() -> NoReturn:
    while True:
        signal.pause()


def io_uring() -> None:
    print(call(IO_URING_SETUP, 1, None))


if __name__ == "__main__":
    commands: dict[str, Callable[..., object]] = {
        "handle": lambda path, *numbers: handle(path, *map(int, numbers)),
        "clone": clone_into,
        "clone-busy": clone_busy,
        "clone-many": clone_many,
        "clone-forget": clone_and_forget,
        "clone-removed": clone_into_removed,
        "uring": io_uring,
    }
    commands[sys.argv[1]](*sys.argv[2:])
