"""cgroup.kill of processes that fork, move, or were killed before."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..waiting import wait_until
from .conftest import is_alive
from .test_processes import EVENT, procs

Sleeper = Callable[..., "subprocess.Popen[bytes]"]

FORKERS = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
open("cgroup.procs", "w").write("0")
for _ in range(5):                    # parents that go on forking, and children that do
    os.fork()
os.write(1, b"%d\\n" % os.getpid())
os.read(0, 1)                         # nobody begins before all are there: the first would starve the last
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork() == 0:
        time.sleep(0.01)
        os._exit(0)
    time.sleep(0.04)                  # less would starve everybody on a machine of few CPUs
"""


@pytest.fixture
def forkers(native_group: Path) -> Iterator[set[int]]:
    """The pids of 32 processes that fork all the time, in the cgroup."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKERS], cwd=native_group, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        pids = {int(process.stdout.readline()) for _ in range(32)}
        process.stdin.close()
        wait_until(lambda: set(procs(native_group)) - pids)
        yield pids
        if native_group.exists():
            (native_group / "cgroup.kill").write_text("1")
        process.kill()


def test_nobody_escapes_by_forking(native_group: Path, forkers: set[int]) -> None:
    before = set(procs(native_group))
    (native_group / "cgroup.kill").write_text("1")
    wait_until(lambda: (native_group / "cgroup.events").read_text().startswith("populated 0"))
    wait_until(lambda: not any(map(is_alive, before)))
    assert (forkers - before, procs(native_group)) == (set(), [])
    native_group.rmdir()


def test_nobody_escapes_into_a_child(native_group: Path, forkers: set[int]) -> None:
    below = native_group / "b"
    below.mkdir()
    stop = threading.Event()

    def move() -> None:
        while not stop.is_set():
            for pid in procs(native_group):
                try:
                    (below / "cgroup.procs").write_text(str(pid))
                except ProcessLookupError:
                    pass

    mover = threading.Thread(target=move)
    mover.start()
    try:
        (native_group / "cgroup.kill").write_text("1")
        wait_until(lambda: (native_group / "cgroup.events").read_text().startswith("populated 0"))
    finally:
        stop.set()
        mover.join()
    assert (procs(native_group), procs(below)) == ([], [])


def test_what_was_moved_away_lives(native_group: Path, sleeper: Sleeper) -> None:
    stays, goes = sleeper(), sleeper()
    for process in (stays, goes):
        (native_group / "cgroup.procs").write_text(str(process.pid))
    (native_group.parent / "cgroup.procs").write_text(str(goes.pid))
    (native_group / "cgroup.kill").write_text("1")
    assert (stays.wait(60), goes.poll()) == (-signal.SIGKILL, None)


def test_a_whole_subtree_is_one_wake_for_each_cgroup(native_group: Path, sleeper: Sleeper) -> None:
    (native_group / "b").mkdir()
    for group in (native_group, native_group / "b") * 10:
        (group / "cgroup.procs").write_text(str(sleeper().pid))
    with (
        (native_group / "cgroup.events").open("rb", buffering=0) as above,
        (native_group / "b" / "cgroup.events").open("rb", buffering=0) as below,
        select.epoll() as epoll,
    ):
        for file in (above, below):
            file.read()
            epoll.register(file, select.EPOLLPRI | select.EPOLLET)
        (native_group / "cgroup.kill").write_text("1")
        wait_until(lambda: os.pread(above.fileno(), 11, 0) == b"populated 0")
        woken = epoll.poll(1)
        while more := epoll.poll(0.1):
            woken += more
        assert sorted(fd for fd, _ in woken) in ([below.fileno()], sorted([above.fileno(), below.fileno()]))
        assert {events for _, events in woken} == {EVENT}


def test_zombies_are_gone_from_the_tree(native_group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (native_group / "cgroup.procs").write_text(str(process.pid))
    (native_group / "cgroup.kill").write_text("1")
    wait_until(lambda: (native_group / "cgroup.events").read_text().startswith("populated 0"))
    assert procs(native_group) == []
    (native_group / "cgroup.kill").write_text("1")  # nobody is left to kill
    native_group.rmdir()
    assert process.wait(60) == -signal.SIGKILL
