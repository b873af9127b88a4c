"""clone(2) and its like, the ends of processes and threads, and RLIMIT_LOCKS."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from events import until
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
    another_thread,
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
    pid = os.fork()
    if pid == 0:
        time.sleep(PATIENCE)
        os._exit(0)
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


@operation
def pidfd_information(place: Place) -> Any:
    told = attempt(fcntl.ioctl, os.pidfd_open(os.getpid()), 0xC040FF0B, bytes(64))  # PIDFD_GET_INFO
    return "told" if isinstance(told, bytes) else told


@operation
def what_is_written_to_procs(place: Place) -> Any:
    procs, root = Path(place.own, "cgroup.procs"), Path(place.hierarchy, "cgroup.procs")
    found: dict[str, Any] = {}
    for text in ("0", "0\n", " 0", "0 0", "-1", "+0", "0x0", "", "\n", "2", "4194304", "99999999999"):
        root.write_text("0")
        result = attempt(procs.write_text, text)
        found[text] = [result, place.cgroup()]
    root.write_text("0")
    with another_thread() as tid:
        found["a thread"] = [attempt(procs.write_text, str(tid)) == len(str(tid)), place.cgroup()]
        found["listed"] = [procs.read_text() == f"{os.getpid()}\n", len(threads_file(place).read_text().split())]
    root.write_text("0")
    fd = os.open(procs, os.O_WRONLY)
    found["twice"] = [attempt(os.write, fd, b"0"), attempt(os.write, fd, b"0"), attempt(os.pwrite, fd, b"0", 1)]
    found["in parts"] = [attempt(os.write, fd, b"%d" % os.getpid()) > 0, attempt(os.writev, fd, [b"0", b"\n"])]
    root.write_text("0")
    os.mkdir(f"{place.own}/gone")
    gone = os.open(f"{place.own}/gone/cgroup.procs", os.O_RDWR)
    os.rmdir(f"{place.own}/gone")
    found["removed"] = [attempt(os.write, gone, b"0"), attempt(os.read, gone, 10)]
    return found


def threads_file(place: Place) -> Path:
    return Path(place.own, "cgroup.threads" if place.layout == "v2" else "tasks")


@operation
def one_thread_moves(place: Place) -> Any:
    os.mkdir(f"{place.own}/a")
    if place.layout == "v2":
        Path(place.own, "a/cgroup.type").write_text("threaded")
    place.enter()
    found: dict[str, Any] = {}
    inner = Path(place.own, "a", "cgroup.threads" if place.layout == "v2" else "tasks")

    def thread() -> None:
        found["moved"] = attempt(inner.write_text, "0")
        found["own"] = place.cgroup("/proc/thread-self/cgroup")
        found["of the leader"] = place.cgroup()
        found["by its number"] = place.cgroup(f"/proc/{threading.get_native_id()}/cgroup")
        found["threads"] = [len(inner.read_text().split()), len(threads_file(place).read_text().split())]
        read = [attempt(Path(place.own, name, "cgroup.procs").read_text) for name in ("", "a")]
        found["procs"] = [text.count("\n") or text for text in read]
        found["rmdir"] = attempt(os.rmdir, f"{place.own}/a")

    one = threading.Thread(target=thread)
    one.start()
    one.join()
    found["ended"] = until(lambda: inner.read_text() == "")
    found["rmdir then"] = attempt(os.rmdir, f"{place.own}/a")
    return found


@operation
def many_threads(place: Place) -> Any:
    """Threads come and go while the process is moved to and fro."""
    os.mkdir(f"{place.own}/a")
    over = threading.Event()

    def breed() -> None:
        while not over.is_set():
            inner = [threading.Thread(target=int) for _ in range(5)]
            for one in inner:
                one.start()
            for one in inner:
                one.join()

    breeders = [threading.Thread(target=breed) for _ in range(3)]
    for one in breeders:
        one.start()
    for _ in range(40):
        place.enter()
        place.enter(f"{place.own}/a")
    left = Path(place.own, "cgroup.procs").read_text(), threads_file(place).read_text()
    over.set()
    for one in breeders:
        one.join()
    return [left, place.cgroup(), attempt(os.rmdir, f"{place.own}/a")]


@operation
def end_of_the_parent(place: Place) -> Any:
    """A child that is to die with its parent (PR_SET_PDEATHSIG) leaves the cgroup empty."""
    libc.prctl(36, 1, 0, 0, 0)
    ours, theirs = os.pipe()
    parent = os.fork()
    if parent == 0:
        place.enter()
        if os.fork() == 0:
            libc.prctl(1, signal.SIGKILL, 0, 0, 0)
            os.write(theirs, b"+")
            time.sleep(PATIENCE)
        os.read(ours, 1)
        os._exit(0)
    os.waitpid(parent, 0)
    status = os.wait()[1]
    return [status, Path(place.own, "cgroup.procs").read_text(), attempt(os.rmdir, place.own)]


@operation
def counts_of_tasks(place: Place) -> Any:
    """pids.current with zombies, threads, and threads without a leader."""
    if place.layout == "v2":
        Path(ROOT, "cgroup.subtree_control").write_text("+pids")

    def current() -> int:
        return int(Path(place.own, "pids.current").read_text())

    found = {"empty": current()}
    pid = os.fork()
    if pid == 0:
        time.sleep(PATIENCE)
        os._exit(0)
    Path(place.own, "cgroup.procs").write_text(str(pid))
    found["one"] = current()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    found["zombie"] = current()
    os.waitpid(pid, 0)
    found["reaped"] = current()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        place.enter()
        for _ in range(3):
            threading.Thread(target=time.sleep, args=(0.2,)).start()
        os.write(theirs, b"%d " % current())

        def tell_later() -> None:
            time.sleep(0.05)
            os.write(theirs, b"%d" % current())

        threading.Thread(target=tell_later).start()
        libc.syscall(60, 0)
    os.close(theirs)
    os.waitpid(pid, 0)
    found["threads"], found["without the leader"] = map(int, os.read(ours, 100).split())
    found["none"] = current()
    return found


def told(number: int, kill: Callable[[], Any]) -> Any:
    """What a child gets that signals, and whether another child hears of it."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(number, lambda *_: os.write(theirs, b"heard"))
        signal.signal(signal.SIGRTMIN, lambda *_: os.write(theirs, b"all"))
        os.write(theirs, b"ready")
        time.sleep(PATIENCE)
        os._exit(0)
    os.read(ours, 5)
    result = child(kill)
    os.kill(pid, signal.SIGRTMIN)  # a higher number, and so delivered after the other
    heard = b""
    while not heard.endswith(b"all"):
        heard += os.read(ours, 16)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return [result, heard != b"all"]


@operation
def kill_of_everybody(place: Place) -> Any:
    """With signals that nobody minds who does not wait for them."""

    def itself() -> Any:
        heard: list[int] = []
        signal.signal(signal.SIGURG, lambda *_: heard.append(1))
        return [attempt(os.kill, -1, signal.SIGURG), heard]

    def as_another(number: int, *, session: bool = False) -> Any:
        if session:
            os.setsid()
        os.setresuid(1000, 1000, 1000)
        return os.kill(-1, number)

    return {
        "root": told(signal.SIGURG, lambda: os.kill(-1, signal.SIGURG)),
        "itself": child(itself),
        "another user": told(signal.SIGURG, lambda: as_another(signal.SIGURG)),
        "another user, SIGCONT": told(signal.SIGCONT, lambda: as_another(signal.SIGCONT)),
        "another session, SIGCONT": told(signal.SIGCONT, lambda: as_another(signal.SIGCONT, session=True)),
        "signal 0": child(lambda: os.kill(-1, 0)),
        "no signal": child(lambda: os.kill(-1, 65)),
        "negative": child(lambda: os.kill(-1, -1)),
    }
