"""What /proc tells of a process: its directory, access(2) to it, oom_score_adj; and triggers on /proc/pressure.

The process is a child, or one of the cgroup fcg-simulated if there is one.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from place import AT_FDCWD, OPENAT, PATIENCE, Place, answer, attempt, call, child, operation

ACCESS, CAPSET, FACCESSAT, FACCESSAT2 = 21, 126, 269, 439
AT_EACCESS, AT_SYMLINK_NOFOLLOW = 0x200, 0x100
CAP_SYS_RESOURCE = 24
NAMES = ("cgroup", "cmdline", "comm", "cpuset", "oom_score", "oom_score_adj", "stat", "statm", "status")


class Subject:
    """A process that belongs to root and does nothing."""

    def __init__(self, place: Place) -> None:
        simulated = Path(place.hierarchy, "fcg-simulated", "cgroup.procs")
        self._child = not simulated.exists()
        self.pid = os.fork() if self._child else int(simulated.read_text().split()[0])
        if self.pid == 0:
            time.sleep(PATIENCE)
            os._exit(0)
        self.path = f"/proc/{self.pid}"

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        if self._child:
            os.waitpid(self.pid, 0)


def as_user(function: Callable[[], Any]) -> Any:
    """What another user than root finds out."""

    def other() -> Any:
        os.setgroups([])
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)
        return function()

    return child(other)


def without(capability: int, function: Callable[[], Any]) -> Any:
    """What root finds out without a capability."""

    def less() -> Any:
        low, high = 0xFFFFFFFF & ~(1 << capability), 0xFF
        header = struct.pack("=Ii", 0x20080522, 0)
        every = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, high, high, 0))
        if call(CAPSET, header, every) != 0:
            every = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, 0x1FF, 0x1FF, 0))
            call(CAPSET, header, every)
        return function()

    return child(less)


def opened(path: str, flags: int) -> Any:
    return answer(call(OPENAT, AT_FDCWD, path.encode(), flags, 0o600))


@operation
def directory_of_a_process(place: Place) -> Any:
    subject = Subject(place)
    path = subject.path
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    below = os.open("comm", os.O_RDONLY, dir_fd=fd)
    found: dict[str, Any] = {
        "listed": sorted(set(os.listdir(path)) & {*NAMES, "task"}),
        "listed by its descriptor": sorted(set(os.listdir(fd)) & {*NAMES, "task"}),
        "without O_DIRECTORY": opened(path, os.O_RDONLY),
        "with a slash": opened(f"{path}/", os.O_RDONLY),
        "a file by its descriptor": os.read(below, 100) != b"",
        "a directory is no file": opened(path, os.O_RDWR),
        "a file is no directory": opened(f"{path}/comm", os.O_RDONLY | os.O_DIRECTORY),
        "what is not there": opened(f"{path}/nothing", os.O_RDONLY),
        "made": opened(f"{path}/nothing", os.O_CREAT | os.O_WRONLY),
        "made as a directory": attempt(os.mkdir, f"{path}/nothing"),
        "removed": attempt(os.unlink, f"{path}/comm"),
        "tasks": [name == str(subject.pid) for name in os.listdir(f"{path}/task")],
        "files of a task": sorted(set(os.listdir(f"{path}/task/{subject.pid}")) & set(NAMES)),
        "of another user": as_user(lambda: sorted(set(os.listdir(path)) & {*NAMES, "task"})),
        "written": [
            opened(f"{path}/{name}", os.O_WRONLY) for name in ("stat", "status", "statm", "oom_score", "cgroup")
        ],
    }
    subject.end()
    found["listed after its end"] = attempt(lambda: os.listdir(fd))
    found["a file after its end"] = attempt(lambda: answer(os.open("comm", os.O_RDONLY, dir_fd=fd)))
    found["opened after its end"] = opened(path, os.O_RDONLY | os.O_DIRECTORY)
    found["read after its end"] = attempt(os.pread, below, 100, 0) if isinstance(below, int) else ""
    return found


@operation
def access_to_a_process(place: Place) -> Any:
    subject = Subject(place)
    at = os.open("/proc", os.O_PATH)

    def looked() -> Any:
        found: dict[str, Any] = {}
        for name in ("", "/stat", "/oom_score_adj", "/cmdline", "/task", "/nothing", "/stat/x"):
            path = f"{subject.path}{name}"
            for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK, os.R_OK | os.W_OK):
                found[f"{name} {mode}"] = [
                    call(ACCESS, path.encode(), mode),
                    call(FACCESSAT, at, path[6:].encode(), mode),
                    call(FACCESSAT2, AT_FDCWD, path.encode(), mode, AT_EACCESS),
                ]
        found["wrong mode"] = call(ACCESS, subject.path.encode(), 8)
        found["wrong flags"] = call(FACCESSAT2, AT_FDCWD, subject.path.encode(), 0, 1)
        found["no link"] = call(FACCESSAT2, AT_FDCWD, subject.path.encode(), 0, AT_SYMLINK_NOFOLLOW)
        return found

    found = {"root": looked(), "another user": as_user(looked)}
    subject.end()
    found["after its end"] = call(ACCESS, subject.path.encode(), os.F_OK)
    return found


@operation
def oom_score_adj(place: Place) -> Any:
    subject = Subject(place)
    path = f"{subject.path}/oom_score_adj"

    def written(text: str) -> Any:
        def write() -> int:
            fd = os.open(path, os.O_WRONLY)
            try:
                return os.write(fd, text.encode())
            finally:
                os.close(fd)

        return [attempt(write), Path(path).read_text()]

    found: dict[str, Any] = {}
    for text in (
        *("0", "1000", "-1000", "1001", "-1001", "500\n", " 7 ", "+8", "0x10", "010", "1 2", "x", "\n", "2147483648"),
        *("99999999999999999999", "300\0junk", "123456789012345", "000000000012345", "-0"),
    ):
        found[text] = written(text)
    found["first"] = written("500")
    found["less without the capability"] = without(CAP_SYS_RESOURCE, lambda: written("400"))
    found["more without the capability"] = without(CAP_SYS_RESOURCE, lambda: written("600"))
    found["the same without the capability"] = without(CAP_SYS_RESOURCE, lambda: written("500"))
    found["lowered by root"] = [written("100"), without(CAP_SYS_RESOURCE, lambda: written("100"))]
    found["another user"] = as_user(lambda: written("900"))
    fd = os.open(path, os.O_RDWR)
    found["by one descriptor"] = [os.read(fd, 10).decode(), os.write(fd, b"9"), os.pread(fd, 10, 0).decode()]
    found["with O_TRUNC"] = [opened(path, os.O_WRONLY | os.O_TRUNC), Path(path).read_text()]
    subject.end()
    found["after its end"] = [attempt(os.write, fd, b"1"), attempt(os.pread, fd, 10, 0), opened(path, os.O_WRONLY)]
    return found


@operation
def triggers_of_the_machine(place: Place) -> Any:
    if place.layout != "v2":
        return None

    def polled(fd: int) -> Any:
        poller = select.poll()
        poller.register(fd, select.POLLPRI)
        return [events for _, events in poller.poll(0)]

    def asked() -> Any:
        found: dict[str, Any] = {}
        for resource in ("cpu", "memory", "io"):
            path = f"/proc/pressure/{resource}"
            fd = call(OPENAT, AT_FDCWD, path.encode(), os.O_RDWR)
            if isinstance(fd, str):
                found[resource] = fd
                continue
            texts = (
                b"some 1 1",
                b"none 150000 1000000",
                b"some 150000 1000000",
                b"some 150000 2000000",
                b"full 1 2000000",
            )
            found[resource] = [attempt(os.write, fd, text) for text in texts]
            os.close(fd)
        fd = os.open("/proc/pressure/memory", os.O_RDONLY)
        found["without a trigger"] = polled(fd)
        found["read only"] = attempt(os.write, fd, b"some 150000 2000000")
        found["twice the same"] = os.pread(fd, 4, 0).decode() + os.pread(fd, 4, 0).decode()
        if isinstance(fd := call(OPENAT, AT_FDCWD, b"/proc/pressure/memory", os.O_RDWR | os.O_NONBLOCK), int):
            os.write(fd, b"some 150000 2000000\0")
            found["with one"] = polled(fd)
            found["text"] = os.pread(fd, 4, 0).decode()
        return found

    return {"root": asked(), "another user": as_user(asked)}
