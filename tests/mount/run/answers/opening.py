"""open(2) and its like of what /proc tells of cgroups."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import signal
import stat
import struct
import time
from pathlib import Path
from typing import Any

from file_systems import types
from place import (
    AT_FDCWD,
    BENEATH,
    IN_ROOT,
    NO_MAGICLINKS,
    NO_SYMLINKS,
    NO_XDEV,
    NOWHERE,
    OPEN,
    OPENAT,
    OPENAT2,
    PATIENCE,
    Place,
    another_thread,
    answer,
    attempt,
    call,
    child,
    operation,
)


@operation
def open_nowhere(place: Place) -> Any:
    return [call(OPEN, NOWHERE, 0), call(OPENAT, AT_FDCWD, None, 0), call(OPENAT2, AT_FDCWD, None, NOWHERE, 24)]


@operation
def open_by_a_descriptor(place: Place) -> Any:
    found = {}
    for name, fd in {
        "closed": 999,
        "negative": -1,
        "directory": os.open("/proc/self", os.O_RDONLY),
        "path": os.open("/proc/self", os.O_PATH),
        "file": os.open("/proc/self/status", os.O_RDONLY),
        "root": os.open("/proc", os.O_RDONLY),
        "elsewhere": os.open("/tmp", os.O_RDONLY),
        "cgroups": os.open(place.own, os.O_RDONLY),
    }.items():
        found[name] = [answer(call(OPENAT, fd, path, 0)) for path in (b"cgroup", b"self/cgroup", b"/proc/self/cgroup")]
    return found


@operation
def open_by_other_names(place: Place) -> Any:
    os.chdir("/proc/self")
    found = {}
    for path in (
        "cgroup",
        "./cgroup",
        "../self/cgroup",
        "../thread-self/cgroup",
        "//proc//self//cgroup",
        "/proc/self/../self/cgroup",
        "/proc/self/task/../cgroup",
        "/proc/self/cgroup/",
        "/proc/self/cgroup/.",
        "/proc/self/cgroup/../cgroup",
        "/proc/self/nothing/../cgroup",
        "/proc/self/status/../cgroup",
        "/proc/self/root/proc/self/cgroup",
        "/proc/self/cwd/cgroup",
        f"/proc/{os.getpid()}/cgroup",
        f"/proc/{os.getpid()}/task/{os.getpid()}/cgroup",
        f"/proc/self/task/{os.getpid()}/cgroup",
        f"/proc/0{os.getpid()}/cgroup",
        "/proc/self/task/1/cgroup",
        "/proc/0/cgroup",
        "/proc/4194304/cgroup",
        "/proc/99999999999999999999/cgroup",
        "/proc/cgroup",
        "/proc/self/cgroups",
        "/proc/self/filesystems",
        "/proc/self/task/cgroup",
        "/proc/1/task/1/mounts",
        "/proc/self/limits",
        "/proc/self/task/self/cgroup",
        "/proc/thread-self/task/1/cgroup",
    ):
        found[path.replace(str(os.getpid()), "$pid")] = attempt(lambda: open(path).read() != "")  # noqa: B023, SIM115
    return found


@operation
def open_files_of_the_same_names_elsewhere(place: Place) -> Any:
    os.makedirs(f"{place.tmp}/self")
    os.makedirs(f"{place.tmp}/1")
    for name in ("cgroup", "mounts", "mountinfo", "limits", "cgroups"):
        for where in ("", "self/", "1/"):
            Path(place.tmp, f"{where}{name}").write_text("mine")
    os.chdir(place.tmp)
    fd = os.open(place.tmp, os.O_PATH)
    wheres = ("", place.tmp + "/", f"/proc/self/root{place.tmp}/", "/proc/self/cwd/", f"/proc/self/fd/{fd}/")
    return [
        Path(f"{where}{name}").read_text()
        for where in wheres
        for name in ("cgroup", "self/cgroup", "1/mounts", "self/mountinfo", "cgroups", "1/limits")
    ]


@operation
def open_through_links(place: Place) -> Any:
    place.enter()
    for name, target in (
        ("file", "/proc/self/cgroup"),
        ("cgroup", "/proc/self/cgroup"),
        ("directory", "/proc/self"),
        ("proc", "/proc"),
        ("relative", f"../..{'/..' * place.tmp.count('/')}/proc/self"),
    ):
        os.symlink(target, f"{place.tmp}/{name}")
    return {
        name: attempt(place.cgroup, f"{place.tmp}/{name}")
        for name in ("file", "cgroup", "directory/cgroup", "proc/self/cgroup", "relative/cgroup")
    }


@operation
def open_with_flags(place: Place) -> Any:
    found = {}
    for path in ("/proc/self/cgroup", "/proc/self/mountinfo", "/proc/mounts", "/proc/self/mounts", "/proc/cgroups"):
        for name, flags in {
            "O_WRONLY": os.O_WRONLY,
            "O_CREAT": os.O_CREAT,
            "O_CREAT|O_EXCL": os.O_CREAT | os.O_EXCL,
            "O_DIRECTORY": os.O_DIRECTORY,
            "O_NOFOLLOW": os.O_NOFOLLOW,
            "O_TRUNC": os.O_TRUNC,
            "O_APPEND": os.O_APPEND,
            "O_DIRECT": os.O_DIRECT,
            "O_NOATIME": os.O_NOATIME,
            "O_NONBLOCK": os.O_NONBLOCK,
            "O_TMPFILE": os.O_TMPFILE,
            "O_PATH": os.O_PATH,
            "O_PATH|O_NOFOLLOW": os.O_PATH | os.O_NOFOLLOW,
            "O_CLOEXEC": os.O_CLOEXEC,
            "of no meaning": 0x40000000,
        }.items():
            fd = call(OPENAT, AT_FDCWD, path.encode(), flags, 0o600)
            if isinstance(fd, int):
                kind = stat.S_IFMT(os.fstat(fd).st_mode)
                read = attempt(os.read, fd, 1)
                shown = [fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, fcntl.F_GETFD), kind]
                found[f"{path} {name}"] = [*shown, read if isinstance(read, str) else len(read)]
                os.close(fd)
            else:
                found[f"{path} {name}"] = [fd]
    return found


def openat2(fd: int, path: bytes | None, flags: int = 0, mode: int = 0, resolve: int = 0, **named: Any) -> int | str:
    how = struct.pack("=QQQ", flags, mode, resolve) + named.get("more", b"")
    return answer(call(OPENAT2, fd, path, how, named.get("size", len(how))))


@operation
def openat2_arguments(place: Place) -> Any:
    path = b"/proc/self/cgroup"
    return {
        "plain": openat2(AT_FDCWD, path),
        "size 0": openat2(AT_FDCWD, path, size=0),
        "size 23": openat2(AT_FDCWD, path, size=23),
        "size 32, zeros": openat2(AT_FDCWD, path, more=bytes(8)),
        "size 32, not zeros": openat2(AT_FDCWD, path, more=b"\1" * 8),
        "size 8192": openat2(AT_FDCWD, path, size=8192),
        "flags": openat2(AT_FDCWD, path, flags=1 << 40),
        "flags of no meaning": openat2(AT_FDCWD, path, flags=0x40000000),
        "mode": openat2(AT_FDCWD, path, mode=0o600),
        "resolve": openat2(AT_FDCWD, path, resolve=1 << 10),
        "beneath in root": openat2(AT_FDCWD, path, resolve=BENEATH | IN_ROOT),
        "how nowhere": answer(call(OPENAT2, AT_FDCWD, path, NOWHERE, 24)),
        "path nowhere": answer(call(OPENAT2, AT_FDCWD, NOWHERE, bytes(24), 24)),
        "both nowhere": answer(call(OPENAT2, AT_FDCWD, NOWHERE, NOWHERE, 24)),
        "O_PATH and more": openat2(AT_FDCWD, path, flags=os.O_PATH | os.O_NONBLOCK),
    }


@operation
def openat2_resolve(place: Place) -> Any:
    found = {}
    root, proc, own = (os.open(path, os.O_PATH) for path in ("/", "/proc", f"/proc/{os.getpid()}"))
    pid = os.getpid()
    for where, fd, path in (
        ("nowhere", AT_FDCWD, "/proc/self/cgroup"),
        ("nowhere", AT_FDCWD, f"/proc/{pid}/mountinfo"),
        ("/", root, "proc/self/cgroup"),
        ("/", root, f"proc/{pid}/cgroup"),
        ("/", root, f"/proc/{pid}/cgroup"),
        ("/proc", proc, "self/cgroup"),
        ("/proc", proc, f"{pid}/cgroup"),
        ("/proc", proc, f"/{pid}/cgroup"),
        ("/proc", proc, "cgroups"),
        ("/proc", proc, "mounts"),
        ("/proc", proc, "../proc/cgroups"),
        ("/proc/PID", own, "cgroup"),
        ("/proc/PID", own, "mounts"),
        ("/proc/PID", own, "../cgroups"),
        ("/proc/PID", own, "root/proc/cgroups"),
        ("/proc/PID", own, "/cgroup"),
    ):
        for name, resolve in (
            ("NO_XDEV", NO_XDEV),
            ("NO_MAGICLINKS", NO_MAGICLINKS),
            ("NO_SYMLINKS", NO_SYMLINKS),
            ("BENEATH", BENEATH),
            ("IN_ROOT", IN_ROOT),
        ):
            shown = path.replace(str(pid), "$pid")
            found[f"{where} {shown} {name}"] = openat2(fd, path.encode(), resolve=resolve)
    return found


@operation
def open_without_proc(place: Place) -> Any:
    def inside() -> Any:
        os.chroot(place.tmp)
        os.chdir("/")
        return [
            answer(call(OPENAT, AT_FDCWD, path, 0))
            for path in (b"/proc/self/cgroup", b"/proc/cgroups", b"proc/self/mounts")
        ]

    return child(inside)


@operation
def open_with_another_proc(place: Place) -> Any:
    def inside() -> Any:
        os.makedirs(f"{place.tmp}/proc/self")
        Path(f"{place.tmp}/proc/self/cgroup").write_text("mine")
        Path(f"{place.tmp}/proc/cgroups").write_text("mine")
        os.chroot(place.tmp)
        os.chdir("/")
        return [Path("/proc/self/cgroup").read_text(), Path("proc/cgroups").read_text()]

    return child(inside)


@operation
def read_what_was_opened(place: Place) -> Any:
    place.enter()
    found: dict[str, Any] = {}
    fd = os.open("/proc/self/cgroup", os.O_RDONLY)
    found["first"] = place.line(os.read(fd, 4096).decode())
    found["end"] = len(os.read(fd, 4096))
    found["at 3"] = len(os.pread(fd, 2, 3))
    found["far"] = len(os.pread(fd, 10, 100000))
    found["write"] = attempt(os.write, fd, b"x")
    found["seek"] = [os.lseek(fd, 5, os.SEEK_SET), os.lseek(fd, 1, os.SEEK_CUR), attempt(os.lseek, fd, -1, os.SEEK_SET)]
    found["again"] = os.lseek(fd, 0, os.SEEK_SET) or place.line(os.read(fd, 4096).decode())
    found["truncate"] = attempt(os.ftruncate, fd, 0)
    found["fsync"] = attempt(os.fsync, fd)
    poller = select.poll()
    poller.register(fd, select.POLLIN | select.POLLPRI)
    found["poll"] = [events for _, events in poller.poll(0)]
    return found


@operation
def stat_what_was_opened(place: Place) -> Any:
    found = {}
    for path in ("/proc/self/cgroup", "/proc/self/mountinfo", "/proc/cgroups", "/proc/mounts", "/proc/filesystems"):
        with open(path) as file:
            seen = os.fstat(file.fileno())
            found[path] = [oct(seen.st_mode), seen.st_nlink, seen.st_uid, seen.st_gid, types(file.fileno())]
    return found


@operation
def open_with_no_descriptor_left(place: Place) -> Any:
    def inside() -> Any:
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
        taken = []
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        found = [call(OPENAT, AT_FDCWD, path, 0) for path in (b"/proc/self/cgroup", b"/proc/self/mountinfo")]
        os.close(taken[0])
        found.append(call(OPENAT, AT_FDCWD, b"/proc/self/cgroup", 0) == taken[0])
        return found

    return child(inside)


@operation
def cgroup_of_others(place: Place) -> Any:
    sleeper = os.fork()
    if sleeper == 0:
        time.sleep(PATIENCE)
        os._exit(0)
    Path(place.own, "cgroup.procs").write_text(str(sleeper))
    found: dict[str, Any] = {"lives": place.cgroup(f"/proc/{sleeper}/cgroup")}
    fd = os.open(f"/proc/{sleeper}/cgroup", os.O_RDONLY)
    directory = os.open(f"/proc/{sleeper}", os.O_PATH)
    os.kill(sleeper, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper, os.WEXITED | os.WNOWAIT)
    time.sleep(0.05)
    found["zombie"] = place.cgroup(f"/proc/{sleeper}/cgroup")
    os.waitpid(sleeper, 0)
    found["reaped"] = attempt(place.cgroup, f"/proc/{sleeper}/cgroup")
    found["reaped, by the directory"] = answer(call(OPENAT, directory, b"cgroup", 0))
    os.close(fd)
    return found


@operation
def cgroup_of_threads(place: Place) -> Any:
    with another_thread() as tid:
        place.enter()
        return {
            "by its own number": place.cgroup(f"/proc/{tid}/cgroup"),
            "in the process": place.cgroup(f"/proc/self/task/{tid}/cgroup"),
            "not in another": attempt(place.cgroup, f"/proc/1/task/{tid}/cgroup"),
            "of the thread": place.cgroup("/proc/thread-self/cgroup"),
        }
