"""Pollers and watchers of a file are woken as often as by a kernel, and see the last change."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

from .test_inotify import events, inotify, watch
from .test_processes import EVENT

__all__ = ["inotify"]

INTERVAL = 0.012  # s between two wakes


def storm(group: Path) -> None:
    """Changes cgroup.events as fast as it can; it is frozen in the end."""
    fd = os.open(group / "cgroup.freeze", os.O_WRONLY)
    for value in (b"0", b"1") * 20:
        os.write(fd, value)
    os.close(fd)


def test_a_storm_of_changes_wakes_now_and_then(native_group: Path, inotify: int) -> None:
    with (native_group / "cgroup.events").open("rb", buffering=0) as file, select.epoll() as epoll:
        file.read()
        epoll.register(file, select.EPOLLPRI | select.EPOLLET)
        watch(inotify, native_group / "cgroup.events")
        start = time.monotonic()
        wakes = 0
        for _ in range(10):
            storm(native_group)
            wakes += len(epoll.poll(0))
        told = len(events(inotify, patience=1))
        most = (time.monotonic() - start) / INTERVAL + 2
        assert (0 < wakes <= most, 0 < told <= most) == (True, True)


def test_the_last_change_is_told(native_group: Path) -> None:
    with (native_group / "cgroup.events").open("rb", buffering=0) as file:
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        for _ in range(5):
            storm(native_group)
            text = b""
            while b"frozen 1" not in text:  # what was read before the end is followed by a wake
                assert poller.poll(2000) == [(file.fileno(), EVENT)]
                text = os.pread(file.fileno(), 100, 0)
            while poller.poll(50):
                os.pread(file.fileno(), 100, 0)


def test_all_who_wait_are_woken(native_group: Path) -> None:
    files = [(native_group / "cgroup.events").open("rb", buffering=0) for _ in range(20)]
    pollers = [select.epoll() for _ in range(20)]
    try:
        for file, epoll in zip(files, pollers, strict=True):
            file.read()
            epoll.register(file, select.EPOLLPRI)
        (native_group / "cgroup.freeze").write_text("1")
        assert [len(epoll.poll(2)) for epoll in pollers] == [1] * 20
        for file in files[:10]:
            os.pread(file.fileno(), 100, 0)
        assert [len(epoll.poll(0)) for epoll in pollers] == [0] * 10 + [1] * 10
    finally:
        for file in files:
            file.close()
        for epoll in pollers:
            epoll.close()


def test_a_pressure_trigger_is_woken_by_the_removal(native_group: Path) -> None:
    fd = os.open(native_group / "cpu.pressure", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(fd, b"some 150000 1000000\0")
        poller = select.poll()
        poller.register(fd, select.POLLPRI)
        quiet = poller.poll(50)
        native_group.rmdir()
        assert (quiet, poller.poll(2000)) == ([], [(fd, EVENT)])
    finally:
        os.close(fd)
