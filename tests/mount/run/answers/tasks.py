"""clone(2) and its like, the ends of processes and threads, and RLIMIT_LOCKS."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import threading
import time
from pathlib import Path
from typing import Any

from place import (
    CLONE,
    CLONE3,
    CLONE_INTO_CGROUP,
    CLONE_NEWNS,
    GETRLIMIT,
    LOCKS,
    NOWHERE,
    PATIENCE,
    PRLIMIT64,
    ROOT,
    SETRLIMIT,
    Place,
    attempt,
    call,
    child,
    libc,
    operation,
)


def clone3(flags: int, fd: int = 0, **named: Any) -> Any:
    arguments = struct.pack("=11Q", flags, 0, 0, 0, named.get("signal", signal.SIGCHLD), 0, 0, 0, 0, 0, fd)
    size = named.get("size", 88)
    buffer = ctypes.create_string_buffer(arguments.ljust(8192, b"\0"), 8192)
    result = call(CLONE3, buffer, size)
    if result == 0:
        os._exit(7)
    if isinstance(result, int):
        return os.waitstatus_to_exitcode(os.waitpid(result, 0)[1])
    return result


@operation
def clone3_arguments(place: Place) -> Any:
    own = os.open(place.own, os.O_PATH)
    return {
        "plain": clone3(0),
        "nowhere": call(CLONE3, NOWHERE, 88),
        "none": call(CLONE3, None, 88),
        "size 0": clone3(0, size=0),
        "size 63": clone3(0, size=63),
        "size 64": clone3(0, size=64),
        "size 96": clone3(0, size=96),
        "size 8192": clone3(0, size=8192),
        "flags": clone3(1 << 50),
        "signal": clone3(0, signal=300),
        "into, size 80": clone3(CLONE_INTO_CGROUP, own, size=80),
        "into, closed": clone3(CLONE_INTO_CGROUP, 999),
        "into, negative": clone3(CLONE_INTO_CGROUP, 2**64 - 1),
        "into, 32 bits": clone3(CLONE_INTO_CGROUP, 2**32 + own),
        "into, a pipe": clone3(CLONE_INTO_CGROUP, os.pipe()[0]),
        "into, own": clone3(CLONE_INTO_CGROUP, own),
        "into, own, flags": clone3(CLONE_INTO_CGROUP | 1 << 50, own),
        "into, a file": clone3(CLONE_INTO_CGROUP, os.open(f"{place.own}/cgroup.procs", os.O_RDONLY)),
        "thread alone": clone3(0x10000),
        "sighand alone": clone3(0x800),
        "fs and namespace": clone3(0x200 | CLONE_NEWNS),
        "thread into": clone3(0x10000 | 0x800 | 0x100 | CLONE_INTO_CGROUP, own, signal=0),
    }


@operation
def forks_of_all_kinds(place: Place) -> Any:
    place.enter()
    found: dict[str, Any] = {"fork": child(place.cgroup)}

    def grandchild() -> Any:
        return child(lambda: child(place.cgroup))

    found["of a child of a child"] = child(grandchild)
    ours, theirs = os.pipe()
    pid = call(CLONE, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0)  # CLONE_PARENT
    if pid == 0:
        os.write(theirs, place.cgroup().encode())
        os._exit(0)
    found["CLONE_PARENT"] = os.read(ours, 1000).decode()
    pid = os.posix_spawn(
        "/bin/sh", ["sh", "-c", "cat /proc/self/cgroup"], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)]
    )
    os.waitpid(pid, 0)
    found["posix_spawn"] = place.line(os.read(ours, 4000).decode())
    return found


@operation
def fork_at_the_limit(place: Place) -> Any:
    if place.layout == "v2":
        with open(f"{ROOT}/cgroup.subtree_control", "w") as file:
            file.write("+pids")

    def inside() -> Any:
        place.enter()
        found: dict[str, Any] = {}
        Path(place.own, "pids.max").write_text("2")
        found["room"] = child(lambda: Path(place.own, "pids.current").read_text())
        Path(place.own, "pids.max").write_text("1")
        for name, flags in (
            ("fork", signal.SIGCHLD),
            ("vfork", 0x4100 | signal.SIGCHLD),
            ("wrong", 0x10000),
            ("wrong too", 0x800),
            ("namespace", CLONE_NEWNS | signal.SIGCHLD),
        ):
            found[name] = call(CLONE, flags, 0, 0, 0, 0)
        found["clone3"] = clone3(0)
        found["thread"] = attempt_thread()
        found["events"] = (
            Path(place.own, "pids.events").read_text() if os.path.exists(f"{place.own}/pids.events") else ""
        )
        found["current"] = Path(place.own, "pids.current").read_text()
        return found

    return child(inside)


def attempt_thread() -> str:
    try:
        threading.Thread(target=int).start()
    except RuntimeError as error:
        return str(error)
    return "started"


@operation
def exec_in_a_thread(place: Place) -> Any:
    place.enter()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(theirs, 1)
        threading.Thread(
            target=lambda: os.execvp("cat", ["cat", "/proc/self/cgroup", f"{place.own}/cgroup.procs"])
        ).start()
        while True:
            signal.pause()
    os.close(theirs)
    os.waitpid(pid, 0)
    text = open(ours).read()  # noqa: SIM115
    return [place.line(text), sorted(text.splitlines()[-2:]) == sorted([str(os.getpid()), str(pid)])]


@operation
def leader_ends_before_its_threads(place: Place) -> Any:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        place.enter()

        def thread() -> None:
            time.sleep(0.1)
            text = {
                "own": place.cgroup("/proc/thread-self/cgroup"),
                "of the process": attempt(place.cgroup, "/proc/self/cgroup"),
                "procs": Path(place.own, "cgroup.procs").read_text() == f"{os.getpid()}\n",
                "populated": Path(place.own, "cgroup.events").read_text() if place.layout == "v2" else "",
                "threads": len(
                    (Path(place.own, "cgroup.threads" if place.layout == "v2" else "tasks")).read_text().split()
                ),
            }
            os.write(theirs, json.dumps(text).encode())
            os._exit(0)

        threading.Thread(target=thread).start()
        libc.syscall(60, 0)  # exit(2), of the thread alone
    os.close(theirs)
    os.waitpid(pid, 0)
    with open(ours) as file:
        return json.loads(file.read())


@operation
def zombie_in_a_cgroup(place: Place) -> Any:
    pid = os.fork() or time.sleep(PATIENCE) or os._exit(0)
    Path(place.own, "cgroup.procs").write_text(str(pid))
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    time.sleep(0.05)
    os.mkdir(f"{place.hierarchy}/{place.name}-2")
    found = {
        "procs": Path(place.own, "cgroup.procs").read_text(),
        "moved": attempt(Path(f"{place.hierarchy}/{place.name}-2", "cgroup.procs").write_text, str(pid))
        == len(str(pid)),
        "rmdir": attempt(os.rmdir, place.own),
        "cgroup": place.cgroup(f"/proc/{pid}/cgroup"),
    }
    os.rmdir(f"{place.hierarchy}/{place.name}-2")
    os.waitpid(pid, 0)
    return found


@operation
def orphans(place: Place) -> Any:
    libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        place.enter()
        if os.fork() == 0:
            time.sleep(0.1)
            os.write(theirs, place.cgroup().encode())
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
    found = [os.read(ours, 1000).decode()]
    os.wait()
    time.sleep(0.05)
    return [*found, Path(place.own, "cgroup.procs").read_text()]


@operation
def change_of_user(place: Place) -> Any:
    def inside() -> Any:
        place.enter()
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)
        return [place.cgroup(), child(place.cgroup), attempt(Path(place.hierarchy, "cgroup.procs").write_text, "0")]

    return child(inside)


def limit(pid: int, new: tuple[int, int] | int | None, old: Any = True) -> Any:
    before = ctypes.create_string_buffer(16)
    wanted = struct.pack("=QQ", *new) if isinstance(new, tuple) else new
    result = call(PRLIMIT64, pid, LOCKS, wanted, before if old is True else old)
    return [result, *struct.unpack("=QQ", before)] if result == 0 else result


@operation
def limits(place: Place) -> Any:
    none = 2**64 - 1

    def inside() -> Any:
        place.enter()
        found: dict[str, Any] = {
            "first": limit(0, None),
            "soft over hard": limit(0, (8, 7)),
            "new nowhere": limit(0, NOWHERE),
            "old nowhere": limit(0, None, NOWHERE),
            "nothing": limit(0, None, None),
            "no process": limit(4194303, None),
            "negative": limit(-1, None),
            "init": limit(1, None, None),
            "set": limit(0, (5, none)),
            "then": limit(0, None),
            "of ourselves": limit(os.getpid(), None),
            "of a child": child(lambda: limit(0, None)),
            "set by its parent": child(lambda: [limit(os.getppid(), (6, 9)), limit(0, None)]),
            "then again": limit(0, None),
            "setrlimit": [call(SETRLIMIT, LOCKS, struct.pack("=QQ", 3, 4)), limit(0, None)],
            "setrlimit nowhere": call(SETRLIMIT, LOCKS, NOWHERE),
            "getrlimit nowhere": call(GETRLIMIT, LOCKS, NOWHERE),
            "shown": [line.split() for line in Path("/proc/self/limits").read_text().splitlines() if "locks" in line],
            "cgroup": child(place.cgroup),
        }
        os.setresuid(1000, 1000, 1000)
        found["raised"] = limit(0, (3, 5))
        found["init's"] = limit(1, None)
        found["lowered"] = limit(0, (2, 3))
        return found

    return child(inside)
