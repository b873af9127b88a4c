"""With fork events, children are followed that marks would miss."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.host.fork_events import ForkEvents, listen
from fakecgroup_mount.host.fork_marks import LOCKS
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses

from ...waiting import wait_until
from ..conftest import OTHER_UID, is_alive, needs_root


@pytest.fixture
def events() -> Iterator[ForkEvents]:
    events = listen()
    if events is None:
        pytest.skip("takes root of the machine, or a newer kernel")
    yield events
    events.close()


@pytest.fixture
def kernel(events: ForkEvents) -> Iterator[Kernel]:
    processes = HostProcesses(IdMap(0, 0), listen_to_forks=listen)
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    kernel.mkdir("/b")
    yield kernel
    processes.release()


class Script:
    """A Python program that prints the pids of the processes that it makes. It and they are killed at the end."""

    def __init__(self, script: str, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-IS", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
        )
        self.pid: int = self._process.pid
        self.made: list[int] = []

    def numbers(self) -> list[int]:
        """Lets the program go on and reads the pids of its next line."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        numbers = [int(word) for word in self._process.stdout.readline().split()]
        self.made += numbers
        return numbers

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        for pid in self.made:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.communicate()
        wait_until(lambda: not any(map(is_alive, self.made)))


FORK = """
import os, sys, time
sys.stdin.readline()
child = os.fork()
if not child:
    time.sleep(300)
print(child, flush=True)
time.sleep(300)
"""

ORPHAN_OF_ANOTHER_USER = f"""
import os, sys, time
sys.stdin.readline()
reading, writing = os.pipe()
if not os.fork():
    os.setuid({OTHER_UID})
    child = os.fork()
    if not child:
        time.sleep(300)
    os.write(writing, b"%d" % child)
    os._exit(0)
os.wait()
print(os.read(reading, 20).decode(), flush=True)
time.sleep(300)
"""

FORK_BY_A_THREAD = """
import os, sys, threading, time
def work():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    child = os.fork()
    if not child:
        time.sleep(300)
    print(child, flush=True)
    time.sleep(300)
sys.stdin.readline()
threading.Thread(target=work).start()
"""


THREAD_BY_A_THREAD = """
import sys, threading, time
def sleeper():
    print(threading.get_native_id(), flush=True)
    time.sleep(300)
def work():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    threading.Thread(target=sleeper).start()
    time.sleep(300)
sys.stdin.readline()
threading.Thread(target=work).start()
"""


def listed(kernel: Kernel, group: str) -> list[int]:
    return [int(pid) for pid in kernel.read(f"/{group}/cgroup.procs").split()]


def test_a_fork_is_told_of_before_it_is_over(events: ForkEvents) -> None:
    with subprocess.Popen(["true"]) as child:
        assert (os.getpid(), child.pid) in [(fork.parent_tgid, fork.tgid) for fork in events.take()]


def test_forks_that_find_no_room_in_the_queue_are_known_to_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakecgroup_mount.host.fork_events._QUEUE", 1)
    events = listen()
    if events is None:
        pytest.skip("takes root of the machine, or a newer kernel")
    try:
        for _ in range(100):
            subprocess.run(["true"], check=True)
        list(events.take())
        assert events.lost
    finally:
        events.close()


def test_a_child_of_a_process_with_a_low_hard_limit_is_followed(kernel: Kernel) -> None:
    with Script(FORK, preexec_fn=lambda: resource.setrlimit(LOCKS, (1000, 1000))) as parent:
        kernel.write("/a/cgroup.procs", str(parent.pid))
        child = parent.numbers()
        assert listed(kernel, "a") == [parent.pid, *child]


@needs_root
def test_an_orphan_of_another_user_is_followed(kernel: Kernel) -> None:
    with Script(ORPHAN_OF_ANOTHER_USER) as parent:
        kernel.write("/a/cgroup.procs", str(parent.pid))
        orphan = parent.numbers()
        assert listed(kernel, "a") == [parent.pid, *orphan]


def test_what_a_thread_forks_starts_where_the_thread_is(kernel: Kernel) -> None:
    kernel.write("/a/cgroup.type", "threaded")
    kernel.mkdir("/a/t")
    kernel.write("/a/t/cgroup.type", "threaded")
    with Script(FORK_BY_A_THREAD) as parent:
        (thread,) = parent.numbers()
        parent.made.clear()
        kernel.write("/a/cgroup.threads", str(parent.pid))
        kernel.write("/a/t/cgroup.threads", str(thread))
        child = parent.numbers()
        assert kernel.read("/a/t/cgroup.threads").split() == [str(thread), *map(str, child)]


@pytest.mark.xfail(strict=True, reason="the kernel tells the parent of the process as the maker of a thread")
def test_a_thread_starts_where_its_maker_is(kernel: Kernel) -> None:
    kernel.write("/a/cgroup.type", "threaded")
    kernel.mkdir("/a/t")
    kernel.write("/a/t/cgroup.type", "threaded")
    with Script(THREAD_BY_A_THREAD) as parent:
        (maker,) = parent.numbers()
        kernel.write("/a/cgroup.threads", str(parent.pid))
        kernel.write("/a/t/cgroup.threads", str(maker))
        (thread,) = parent.numbers()
        parent.made.clear()
        assert kernel.read("/a/t/cgroup.threads").split() == [str(maker), str(thread)]
