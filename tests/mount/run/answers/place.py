"""Where an operation is done, and how: the cgroup of its own, system calls, children."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = "/sys/fs/cgroup"
PATIENCE = 10.0  # seconds for one operation

MOUNT, OPENAT, UNSHARE, NAME_TO_HANDLE_AT, SETNS, CLONE3, OPENAT2 = 165, 257, 272, 303, 308, 435, 437
OPEN, STATFS, FSTATFS, PRLIMIT64, GETRLIMIT, SETRLIMIT, CLONE, VFORK = 2, 137, 138, 302, 97, 160, 56, 58
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW = -100, 0x1000, 0x400
PROC_SUPER_MAGIC = 0x9FA0
NOWHERE = 1  # an address where nothing is
CLONE_INTO_CGROUP = 0x2_0000_0000
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x2000000, 0x10000000, 0x20000000
NO_XDEV, NO_MAGICLINKS, NO_SYMLINKS, BENEATH, IN_ROOT, CACHED = 1, 2, 4, 8, 16, 32
MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 8192, 16384, 1 << 18
MNT_DETACH = 2
LOCKS = 10

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

Operation = Callable[["Place"], Any]
OPERATIONS: dict[str, Operation] = {}


class Place:
    """A cgroup of the operation's own, in `hierarchy`, which is removed afterwards, and an empty directory."""

    def __init__(self, layout: str, name: str) -> None:
        self.layout = layout
        self.hierarchy = ROOT if layout == "v2" else f"{ROOT}/pids"
        self.name = f"fcg-{name}"
        self.own = f"{self.hierarchy}/{self.name}"
        self.tmp = tempfile.mkdtemp(prefix="fcg-")
        os.mkdir(self.own)

    def enter(self, cgroup: str = "") -> None:
        Path(cgroup or self.own, "cgroup.procs").write_text("0")

    def remove(self) -> None:
        shutil.rmtree(self.tmp, ignore_errors=True)
        for directory, _, _ in os.walk(self.own, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)

    def shown(self, line: str) -> str:
        """A line of /proc/PID/cgroup without what differs from run to run."""
        return line.replace(self.name, "$own").replace(self.tmp, "$tmp")

    def cgroup(self, path: str | int = "/proc/self/cgroup") -> str:
        """The line of our hierarchy in a file such as /proc/self/cgroup."""
        with open(path) as file:
            return self.line(file.read())

    def line(self, text: str) -> str:
        wanted = "::" if self.layout == "v2" else ":pids:"
        return next(self.shown(line.partition(":")[2]) for line in text.splitlines() if wanted in line)


def operation(function: Operation) -> Operation:
    OPERATIONS[function.__name__] = function
    return function


def call(number: int, *arguments: Any) -> int | str:
    """The result, or the name of the errno."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *words))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result


def answer(result: int | str) -> int | str:
    """As `call` gives it, a descriptor as "fd", which is closed."""
    if isinstance(result, int):
        os.close(result)
        return "fd"
    return result


def attempt(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The result, or the name of the errno."""
    try:
        return function(*arguments, **named)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


@contextlib.contextmanager
def another_thread() -> Iterator[int]:
    """The number of a thread that lives meanwhile."""
    start, end, tids = threading.Event(), threading.Event(), []

    def thread() -> None:
        tids.append(threading.get_native_id())
        start.set()
        end.wait()

    threading.Thread(target=thread, daemon=True).start()
    start.wait()
    try:
        yield tids[0]
    finally:
        end.set()


def child(function: Callable[[], Any]) -> Any:
    """What a forked child finds out."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            found = attempt(function)
        except BaseException as error:
            found = traceback.format_exception_only(error)[-1].strip()
        with open(theirs, "w") as file:
            file.write(json.dumps(found))
        os._exit(0)
    os.close(theirs)
    with open(ours) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text or "null")
