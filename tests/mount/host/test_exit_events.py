"""Exit events of the kernel, and how they are joined with forks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fakecgroup import CpuTime, Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup_mount.host.exit_events import ExitEvent, ExitEvents, listen
from fakecgroup_mount.host.exit_tracker import ExitTracker

MS = 1_000_000
THREADS = """
import threading, time
def burn():
    end = time.thread_time() + 0.05
    while time.thread_time() < end: pass
b"x" * (30 << 20)
threads = [threading.Thread(target=burn) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.fixture
def ends(root: None) -> Iterator[ExitEvents]:
    listening = listen()
    if listening is None:
        pytest.skip("the kernel tells us of no ends")
    yield listening
    listening.close()


def test_the_end_of_a_process_is_told_before_its_parent_hears_of_it(ends: ExitEvents) -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", THREADS])
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    told = [end for end in ends.take() if end.tgid == child.pid]
    whole = told[-1].whole
    assert ([end.whole is None for end in told], whole is not None) == ([True, True, False], True)
    of_tasks = sum(end.run for end in told)  # the last task still runs while the kernel reads both clocks
    assert whole is not None and whole.run >= of_tasks - MS > 99 * MS
    assert whole.run == pytest.approx((used.ru_utime + used.ru_stime) * 1e9, abs=50 * MS)
    assert (told[-1].parent, told[-1].forked) == (os.getpid(), False)
    assert told[-1].peak > 30 << 20


class Queue(ExitEvents):
    """Exit events that a test makes."""

    def __init__(self) -> None:
        self.queue: list[ExitEvent] = []

    def take(self) -> Iterator[ExitEvent]:
        queue, self.queue = self.queue, []
        return iter(queue)

    def close(self) -> None:
        pass


def an_end(tgid: int) -> ExitEvent:
    return ExitEvent(tgid, tgid, 1, MS, CpuTime(MS, MS), 1 << 20, False)


@pytest.fixture
def place() -> Cgroup:
    place = Kernel().walk("/")
    assert isinstance(place, Cgroup)
    return place


@pytest.mark.parametrize("first", ["fork", "end", "both"])
def test_an_end_and_its_fork_find_each_other_whichever_is_heard_of_first(first: str, place: Cgroup) -> None:
    queue = Queue()
    told = ExitTracker(queue)
    if first != "end":
        told.add_gone(5, (place,))
    if first != "fork":
        queue.queue.append(an_end(5))
    found = [end.places for end in told.take()]
    if first == "end":
        told.add_gone(5, (place,))
    if first == "fork":
        queue.queue.append(an_end(5))
    found += [end.places for end in told.take()]
    assert found == {"fork": [(place,)], "end": [None, (place,)], "both": [(place,)]}[first]


def test_an_end_is_not_taken_for_that_of_a_later_process_of_the_same_number(place: Cgroup) -> None:
    queue = Queue()
    told = ExitTracker(queue)
    queue.queue.append(an_end(5))
    for _ in range(2):
        told.take()
    told.add_gone(5, (place,))
    assert told.take() == []
