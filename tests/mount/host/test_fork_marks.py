"""A process that copies a mark does not get into a cgroup."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.host.fork_events import ForkEvents, listen
from fakecgroup_mount.host.fork_marks import LOCKS
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses

from ...waiting import wait_until
from ..conftest import is_alive

DOUBLE_FORKS = int(os.environ.get("FAKECGROUP_DOUBLE_FORKS", "50"))

# Does what it is told, line by line, and says so: "mark N" sets its own soft limit, "fork", "orphans N".
_PUPPET = """
import os, resource, sys, time
unlimited = resource.RLIM_INFINITY
for line in sys.stdin:
    word, *rest = line.split()
    if word == "mark":
        resource.setrlimit(10, (int(rest[0]), unlimited))
        print("done", flush=True)
    elif word == "fork":
        child = os.fork()
        if not child:
            time.sleep(300)
        print(child, flush=True)
    else:
        made = []
        for _ in range(int(rest[0])):
            reading, writing = os.pipe()
            if not os.fork():
                child = os.fork()
                if not child:
                    os.close(reading)
                    os.close(writing)
                    time.sleep(300)
                os.write(writing, b"%d" % child)
                os._exit(0)
            os.wait()
            made.append(os.read(reading, 20).decode())
            os.close(reading)
            os.close(writing)
        print(*made, flush=True)
"""


class Puppet:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-IS", "-c", _PUPPET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        self.made: list[int] = []

    def tell(self, words: str) -> list[int]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin and stdout
        stdin.write(words + "\n")
        stdin.flush()
        made = [int(word) for word in stdout.readline().split() if word != "done"]
        self.made += made
        return made

    def end(self) -> None:
        for pid in self.made:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.kill()
        self._process.communicate()
        wait_until(lambda: not any(map(is_alive, self.made)))


@contextmanager
def puppet() -> Iterator[Puppet]:
    one = Puppet()
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def member() -> Iterator[Puppet]:
    with puppet() as one:
        yield one


@pytest.fixture
def stranger() -> Iterator[Puppet]:
    with puppet() as one:
        one.tell("mark 12345")  # it may
        yield one


def no_events() -> None:
    return None


def told() -> ForkEvents:
    """Skips if the kernel sends us no fork events."""
    events = listen()
    return events if events is not None else pytest.skip("takes root of the machine, or a newer kernel")


def told_of_few() -> ForkEvents:
    """Fork events with a queue so short that most are lost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fakecgroup_mount.host.fork_events._QUEUE", 1)
        return told()


@pytest.fixture(params=[no_events, told, told_of_few])
def kernel(request: pytest.FixtureRequest, member: Puppet, stranger: Puppet) -> Iterator[Kernel]:
    """A model with the member in its cgroup a, for each way to find forks."""
    processes = HostProcesses(IdMap(0, 0), listen_to_forks=request.param)
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.procs", str(member.pid))
    yield kernel
    processes.release()


def listed(kernel: Kernel) -> list[int]:
    return [int(pid) for pid in kernel.read("/a/cgroup.procs").split()]


def mark_of(one: Puppet) -> int:
    return resource.prlimit(one.pid, LOCKS)[0]


@pytest.mark.hostile("a process gives itself the mark of one in a cgroup")
def test_who_copies_a_mark_is_in_no_cgroup(kernel: Kernel, member: Puppet, stranger: Puppet) -> None:
    stranger.tell(f"mark {mark_of(member)}")
    assert listed(kernel) == [member.pid]


@pytest.mark.hostile("a process forks with a copied mark", times=10)
def test_children_of_who_copies_a_mark_are_in_no_cgroup(kernel: Kernel, member: Puppet, stranger: Puppet) -> None:
    stranger.tell(f"mark {mark_of(member)}")
    for _ in range(10):
        stranger.tell("fork")
    child = member.tell("fork")
    assert listed(kernel) == [member.pid, *child]


def test_every_process_has_a_mark_of_its_own(kernel: Kernel, member: Puppet) -> None:
    children = [member.tell("fork")[0] for _ in range(3)]
    assert listed(kernel) == [member.pid, *children]
    assert len({resource.prlimit(pid, LOCKS)[0] for pid in (member.pid, *children)}) == 4


def test_the_child_of_an_unseen_child_is_where_its_grandparent_is(kernel: Kernel, member: Puppet) -> None:
    orphans = member.tell(f"orphans {DOUBLE_FORKS}")
    assert sorted(listed(kernel)) == sorted([member.pid, *orphans])


def test_orphans_stay_when_their_maker_has_moved(kernel: Kernel, member: Puppet) -> None:
    orphans = member.tell("orphans 3")
    kernel.write("/cgroup.procs", str(member.pid))
    assert sorted(listed(kernel)) == sorted(orphans)


def test_a_program_that_sets_the_limit_itself_still_has_its_threads_counted(kernel: Kernel, member: Puppet) -> None:
    child = member.tell("fork")
    assert listed(kernel) == [member.pid, *child]
    member.tell("mark 77")
    assert listed(kernel) == [member.pid, *child]
