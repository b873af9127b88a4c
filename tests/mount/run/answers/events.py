"""Events, freezing and killing; on v1 cgroup.event_control."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from place import PATIENCE, ROOT, Place, attempt, libc, operation


def events_file(place: Place) -> str:
    return f"{place.own}/cgroup.events"


def sleeper(place: Place, cgroup: str = "") -> int:
    pid = os.fork()
    if pid == 0:
        time.sleep(PATIENCE)
        os._exit(0)
    Path(cgroup or place.own, "cgroup.procs").write_text(str(pid))
    time.sleep(0.03)  # so that the event of its coming is told
    return pid


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def only_v2(place: Place) -> bool:
    return place.layout == "v2"


@operation
def poll_events(place: Place) -> Any:
    if not only_v2(place):
        return None
    found: dict[str, Any] = {}
    fd = os.open(events_file(place), os.O_RDONLY)
    poller = select.poll()
    poller.register(fd, select.POLLPRI)
    found["unread"] = [events for _, events in poller.poll(0)]
    os.read(fd, 100)
    found["read"] = [events for _, events in poller.poll(0)]
    pid = sleeper(place)
    found["came"] = [[events for _, events in poller.poll(1000)], [events for _, events in poller.poll(0)]]
    os.pread(fd, 100, 0)
    found["read again"] = [events for _, events in poller.poll(0)]
    end(pid)
    found["left"] = [events for _, events in poller.poll(1000)]
    os.pread(fd, 100, 0)
    copy = os.dup(fd)
    poller.register(copy, select.POLLPRI)
    pid = sleeper(place)
    found["dup"] = sorted(events for _, events in poller.poll(1000))
    os.pread(copy, 100, 0)
    found["dup, read by one"] = [events for _, events in poller.poll(0)]
    end(pid)
    time.sleep(0.03)
    os.pread(fd, 100, 0)
    os.rmdir(place.own)
    found["removed"] = [events for _, events in poller.poll(300)]
    found["read removed"] = attempt(os.pread, fd, 100, 0)
    found["poll everything"] = everything(fd)
    return found


def everything(fd: int) -> list[int]:
    poller = select.poll()
    poller.register(fd, 0xFFFF)
    return [events for _, events in poller.poll(0)]


@operation
def epoll_events(place: Place) -> Any:
    if not only_v2(place):
        return None
    found: dict[str, Any] = {}
    edge, once, level = select.epoll(), select.epoll(), select.epoll()
    fd = os.open(events_file(place), os.O_RDONLY)
    edge.register(fd, select.EPOLLPRI | select.EPOLLET)
    once.register(fd, select.EPOLLPRI | select.EPOLLONESHOT)
    level.register(fd, select.EPOLLPRI)

    def three() -> list[Any]:
        return [[events for _, events in one.poll(0.3)] for one in (edge, once, level)]

    found["unread"] = three()
    os.pread(fd, 100, 0)
    found["read"] = three()
    pid = sleeper(place)
    found["came"] = three()
    found["came, again"] = three()
    once.modify(fd, select.EPOLLPRI | select.EPOLLONESHOT)
    os.pread(fd, 100, 0)
    end(pid)
    found["left"] = three()
    os.pread(fd, 100, 0)
    found["left, read"] = three()
    nested = select.epoll()
    nested.register(edge.fileno(), select.EPOLLIN)
    pid = sleeper(place)
    found["nested"] = [events for _, events in nested.poll(0.5)]
    end(pid)
    return found


@operation
def select_events(place: Place) -> Any:
    if not only_v2(place):
        return None
    fd = os.open(events_file(place), os.O_RDONLY)
    found = [[len(ready) for ready in select.select([fd], [fd], [fd], 0)]]
    os.pread(fd, 100, 0)
    found.append([len(ready) for ready in select.select([], [], [fd], 0)])
    pid = sleeper(place)
    found.append([len(ready) for ready in select.select([], [], [fd], 1)])
    end(pid)
    return found


@operation
def several_wait(place: Place) -> Any:
    """Threads, a forked child with the same descriptor, and one with its own are all woken."""
    if not only_v2(place):
        return None
    fd = os.open(events_file(place), os.O_RDONLY)
    os.read(fd, 100)
    own = os.open(events_file(place), os.O_RDONLY)
    os.read(own, 100)
    woken: list[Any] = []

    def wait(descriptor: int) -> Any:
        poller = select.poll()
        poller.register(descriptor, select.POLLPRI)
        return [events for _, events in poller.poll(2000)]

    threads = [threading.Thread(target=lambda one=one: woken.append(wait(one))) for one in (fd, fd, own)]
    for thread in threads:
        thread.start()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, json.dumps(wait(fd)).encode())
        os._exit(0)
    time.sleep(0.1)
    other = sleeper(place)
    for thread in threads:
        thread.join()
    os.waitpid(pid, 0)
    end(other)
    return [*woken, json.loads(os.read(ours, 100))]


@operation
def inotify_events(place: Place) -> Any:
    if not only_v2(place):
        return None
    fd = libc.inotify_init1(os.O_NONBLOCK)
    os.mkdir(f"{place.own}/a")
    libc.inotify_add_watch(fd, f"{place.own}/a/cgroup.events".encode(), 0xFFF)
    libc.inotify_add_watch(fd, f"{place.own}/a".encode(), 0xFFF)

    def told(wait: float = 0.3) -> list[str]:
        time.sleep(wait)
        data = attempt(os.read, fd, 65536)
        if isinstance(data, str):
            return []
        found: list[str] = []
        while data:
            _, mask, _, length = struct.unpack_from("=iIII", data)
            found.append(f"{mask:#x} {data[16 : 16 + length].rstrip(bytes(1)).decode()}")
            data = data[16 + length :]
        return found

    found: dict[str, Any] = {}
    pid = sleeper(place, f"{place.own}/a")
    found["came"] = [line for line in told() if not line.endswith("cgroup.procs")]
    end(pid)
    found["left"] = told()
    Path(f"{place.own}/a/cgroup.events").read_text()
    found["read"] = told(0.05)
    os.mkdir(f"{place.own}/a/b")
    os.rmdir(f"{place.own}/a/b")
    found["made and removed"] = told(0.05)
    os.rmdir(f"{place.own}/a")
    found["removed"] = told()
    return found


def events_of(place: Place, path: str = "") -> dict[str, str]:
    return dict(line.split() for line in Path(path or place.own, "cgroup.events").read_text().splitlines())


def until(condition: Callable[[], bool], patience: float = 2.0) -> bool:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@operation
def freeze_and_kill(place: Place) -> Any:
    if not only_v2(place):
        return None
    found: dict[str, Any] = {}
    pid = sleeper(place)
    Path(place.own, "cgroup.freeze").write_text("1")
    found["frozen"] = until(lambda: events_of(place)["frozen"] == "1")
    other = sleeper(place)
    os.kill(other, signal.SIGTERM)
    found["SIGTERM"] = until(lambda: os.waitpid(other, os.WNOHANG)[0] != 0, 0.2)
    if not found["SIGTERM"]:
        end(other)
    os.kill(pid, signal.SIGKILL)
    found["SIGKILL"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    found["empty"] = [until(lambda: events_of(place)["populated"] == "0"), events_of(place)]
    pid = sleeper(place)
    found["one that comes"] = [until(lambda: events_of(place)["frozen"] == "1"), events_of(place)]
    Path(place.hierarchy, "cgroup.procs").write_text(str(pid))
    found["one that goes"] = [until(lambda: state(pid) != "T"), events_of(place)]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    Path(place.own, "cgroup.freeze").write_text("0")
    found["thawed"] = events_of(place)
    return found


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@operation
def kill_many(place: Place) -> Any:
    if not only_v2(place):
        return None
    """A tree of processes that fork as fast as they can is ended by one write."""
    libc.prctl(36, 1, 0, 0, 0)
    os.mkdir(f"{place.own}/a")
    first = os.fork()
    if first == 0:
        place.enter(f"{place.own}/a")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            if os.fork() == 0:
                if os.fork() == 0:
                    time.sleep(0.02)
                os._exit(0)
            time.sleep(0.001)
    time.sleep(0.3)
    Path(place.own, "cgroup.kill").write_text("1")
    found = until(lambda: events_of(place)["populated"] == "0")
    reaped = 0
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
            reaped += 1
    return [found, reaped > 0, Path(f"{place.own}/a/cgroup.procs").read_text(), attempt(os.rmdir, f"{place.own}/a")]


_CONTROLS = (
    *("{event} {usage} 4096", "{event} {usage}", "{event} {usage} x", "{event} {usage} 4096 more", "{event}", ""),
    *("{event} {oom}", "{event} {level} low", "{event} {level}", "{event} {level} nonsense", "{event} {path} 4096"),
    *("{other} {usage} 4096", "{usage} {usage} 4096", "999 {usage} 4096", "-1 {usage} 4096"),
    *("{event} 999 4096", "{event} {other} 4096"),
)


@operation
def event_control(place: Place) -> Any:
    if only_v2(place):
        return None
    own = f"{ROOT}/memory/{place.name}"
    os.mkdir(own)
    try:
        usage = os.open(f"{own}/memory.usage_in_bytes", os.O_RDONLY)
        oom = os.open(f"{own}/memory.oom_control", os.O_RDONLY)
        level = os.open(f"{own}/memory.pressure_level", os.O_RDONLY)
        path = os.open(f"{own}/memory.usage_in_bytes", os.O_PATH)
        event, other = os.eventfd(0, os.EFD_NONBLOCK), os.open("/dev/null", os.O_RDWR)
        numbers = {"event": event, "other": other, "usage": usage, "oom": oom, "level": level, "path": path}
        found: dict[str, Any] = {}
        for text in _CONTROLS:
            told = text.format(**numbers)
            result = attempt(Path(own, "cgroup.event_control").write_text, told)
            found[text] = "taken" if result == len(told) else result
        os.close(event)
        found["after the eventfd is closed"] = attempt(Path(own, "memory.limit_in_bytes").write_text, "1M")
        event = os.eventfd(0, os.EFD_NONBLOCK)
        Path(own, "cgroup.event_control").write_text(f"{event} {oom}")
        os.close(oom)
    finally:
        os.rmdir(own)
    time.sleep(0.05)
    found["told of the removal"] = attempt(os.eventfd_read, event)
    return found


@operation
def freeze_what_is_traced(place: Place) -> Any:
    if not only_v2(place):
        return None
    pid = os.fork()
    if pid == 0:
        libc.ptrace(0, 0, None, None)  # PTRACE_TRACEME
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(PATIENCE)
        os._exit(0)
    os.waitpid(pid, 0)
    Path(place.own, "cgroup.procs").write_text(str(pid))
    Path(place.own, "cgroup.freeze").write_text("1")
    found: dict[str, Any] = {"stopped": [until(lambda: events_of(place)["frozen"] == "1"), state(pid)]}
    libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
    found["detached"] = until(lambda: events_of(place)["frozen"] == "1")
    end(pid)
    found["killed"] = [until(lambda: events_of(place)["populated"] == "0"), events_of(place)]
    return found


@operation
def freeze_what_is_stopped(place: Place) -> Any:
    """A process that somebody had stopped stays so; one that a SIGCONT comes for while it is frozen goes on then."""
    if not only_v2(place):
        return None
    pid = sleeper(place)
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    Path(place.own, "cgroup.freeze").write_text("1")
    found: dict[str, Any] = {"frozen": until(lambda: events_of(place)["frozen"] == "1")}
    Path(place.own, "cgroup.freeze").write_text("0")
    time.sleep(0.05)
    found["thawed"] = [state(pid), events_of(place)]
    os.kill(pid, signal.SIGCONT)
    found["continued"] = until(lambda: state(pid) == "S")
    end(pid)
    return found


@operation
def freeze_while_forking(place: Place) -> Any:
    """Nothing is added to a frozen cgroup by those that are in it; those that were exiting may be gone soon."""
    if not only_v2(place):
        return None
    libc.prctl(36, 1, 0, 0, 0)
    pid = os.fork()
    if pid == 0:
        place.enter()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            if os.fork() == 0:
                time.sleep(0.01)
                os._exit(0)
            time.sleep(0.001)
    found: list[object] = []
    for _ in range(5):
        time.sleep(0.03)
        Path(place.own, "cgroup.freeze").write_text("1")
        frozen = until(lambda: events_of(place)["frozen"] == "1")
        listings = [Path(place.own, "cgroup.procs").read_text().split()]

        def stands_still(listings: list[list[str]] = listings) -> bool:
            time.sleep(0.03)
            listings.append(Path(place.own, "cgroup.procs").read_text().split())
            return listings[-1] == listings[-2]

        stood = until(stands_still) and all(set(listing) <= set(listings[0]) for listing in listings)
        found.append([frozen, stood, events_of(place)["frozen"]])
        Path(place.own, "cgroup.freeze").write_text("0")
    Path(place.own, "cgroup.kill").write_text("1")
    found.append(until(lambda: events_of(place)["populated"] == "0"))
    return found


@operation
def kill_without_events(place: Place) -> Any:
    """One event for the end of many, at most two."""
    if not only_v2(place):
        return None
    pids = [sleeper(place) for _ in range(5)]
    fd = os.open(events_file(place), os.O_RDONLY)
    os.read(fd, 100)
    poller = select.poll()
    poller.register(fd, select.POLLPRI)
    Path(place.own, "cgroup.kill").write_text("1")
    for pid in pids:
        os.waitpid(pid, 0)
    woken = [events for _, events in poller.poll(1000)]
    return [woken, os.pread(fd, 100, 0).decode(), [events for _, events in poller.poll(100)]]


@operation
def release_agent(place: Place) -> Any:
    if only_v2(place):
        return None
    agent, told = f"{place.tmp}/agent", f"{place.tmp}/told"
    before = Path(place.hierarchy, "release_agent").read_text()
    Path(agent).write_text(f"#!/bin/sh\necho $# $1 >>{told}\n")
    os.chmod(agent, 0o755)
    os.chmod(place.tmp, 0o755)
    found: dict[str, Any] = {}
    try:
        found["set"] = attempt(Path(place.hierarchy, "release_agent").write_text, agent) == len(agent)
        Path(place.own, "notify_on_release").write_text("1")
        os.mkdir(f"{place.own}/a")
        found["inherited"] = Path(place.own, "a/notify_on_release").read_text()
        end(sleeper(place, f"{place.own}/a"))
        found["last process"] = until(lambda: os.path.exists(told) and Path(told).read_text() != "")
        found["told"] = place.shown(Path(told).read_text()) if os.path.exists(told) else None
        os.remove(told)
        os.rmdir(f"{place.own}/a")
        found["last child"] = until(lambda: os.path.exists(told) and Path(told).read_text() != "")
        found["told of it"] = place.shown(Path(told).read_text()) if os.path.exists(told) else None
    finally:
        Path(place.hierarchy, "release_agent").write_text(before)
    return found
