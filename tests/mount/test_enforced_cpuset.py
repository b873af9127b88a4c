"""A mount that enforces cpuset has the processes in its cpusets run there, and no other process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..waiting import wait_until
from .conftest import OTHER_UID, Mount, daemon_of, needs_fuse, needs_root, run

pytestmark = [needs_fuse, pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")]

BOTH = sorted(os.sched_getaffinity(0))[:2]
FIRST, SECOND = ({cpu} for cpu in BOTH)
ALL = os.sched_getaffinity(0)


@pytest.fixture
def tree(mount: Mount) -> Path:
    """A tree with the cpuset `a` of the second CPU."""
    tree = mount(enforce="cpuset")
    (tree / "cgroup.subtree_control").write_text("+cpuset")
    (tree / "a").mkdir()
    give(tree, SECOND)
    return tree


def give(tree: Path, cpus: set[int]) -> None:
    (tree / "a" / "cpuset.cpus").write_text(",".join(map(str, cpus)))


def enter(place: Path, pid: int) -> None:
    (place / "cgroup.procs").write_text(str(pid))


@pytest.fixture
def start() -> Iterator[Callable[..., int]]:
    """Starts a process, and ends it after the test."""
    made: list[subprocess.Popen[bytes]] = []

    def start(*command: str, user: int | None = None) -> int:
        made.append(subprocess.Popen(command or ("sleep", "1000"), user=user, start_new_session=True))
        return made[-1].pid

    yield start
    for process in made:
        process.kill()
        process.wait()


Start = Callable[..., int]


def test_who_comes_runs_there_at_once_and_is_free_when_it_leaves(tree: Path, start: Start) -> None:
    pid = start()
    enter(tree / "a", pid)
    there = os.sched_getaffinity(pid)
    give(tree, FIRST)
    then = os.sched_getaffinity(pid)
    enter(tree, pid)
    assert (there, then, os.sched_getaffinity(pid)) == (SECOND, FIRST, ALL)


def test_strangers_are_left_alone(tree: Path, start: Start) -> None:
    inside, stranger = start(), start()
    enter(tree / "a", inside)
    give(tree, FIRST)
    (tree / "a" / "cpuset.cpus.partition").write_text("root")
    assert [os.sched_getaffinity(pid) for pid in (stranger, os.getpid(), daemon_of(tree))] == [ALL] * 3


def test_what_a_process_had_asked_for_before_it_came_counts(tree: Path, start: Start) -> None:
    pid = start()
    os.sched_setaffinity(pid, FIRST)
    give(tree, FIRST | SECOND)
    enter(tree / "a", pid)
    assert os.sched_getaffinity(pid) == FIRST


def test_who_asks_for_other_cpus_is_brought_back(tree: Path, start: Start) -> None:
    pid = start()
    enter(tree / "a", pid)
    os.sched_setaffinity(pid, FIRST)
    assert wait_until(lambda: os.sched_getaffinity(pid) == SECOND)


def test_who_asks_for_some_of_its_cpus_keeps_them(tree: Path, start: Start) -> None:
    pid = start()
    give(tree, FIRST | SECOND)
    enter(tree / "a", pid)
    os.sched_setaffinity(pid, FIRST)

    def remembered() -> bool:
        """The daemon looks about once a second."""
        give(tree, SECOND)
        give(tree, FIRST | SECOND)
        if os.sched_getaffinity(pid) == FIRST:
            return True
        os.sched_setaffinity(pid, FIRST)
        return False

    assert wait_until(remembered)


def test_children_and_threads_of_before_follow(tree: Path, start: Start) -> None:
    program = "import os, threading, time; os.fork(); threading.Thread(target=time.sleep, args=(99,)).start()"
    pid = start(sys.executable, "-c", program)
    wait_until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 2)
    enter(tree / "a", pid)
    assert {os.sched_getaffinity(int(tid)) == SECOND for tid in os.listdir(f"/proc/{pid}/task")} == {True}


@needs_root
def test_another_users_process_that_root_moves_runs_there(tree: Path, start: Start) -> None:
    pid = start(user=OTHER_UID)
    enter(tree / "a", pid)
    assert os.sched_getaffinity(pid) == SECOND


def test_ctl_returns_once_it_has_begun_or_ended(tree: Path, start: Start) -> None:
    pid = start()
    enter(tree / "a", pid)
    assert run("ctl", tree, "enforce", "none").returncode == 0
    assert os.sched_getaffinity(pid) == ALL
    assert run("ctl", tree, "enforce", "cpuset").stdout == "cpuset\n"
    assert os.sched_getaffinity(pid) == SECOND


def test_a_daemon_that_ends_lets_everybody_run_anywhere(tree: Path, start: Start) -> None:
    pid = start()
    enter(tree / "a", pid)
    os.kill(daemon_of(tree), signal.SIGTERM)
    assert wait_until(lambda: os.sched_getaffinity(pid) == ALL)


def test_a_machine_of_more_cpus_runs_on_those_that_there_are(mount: Mount, start: Start) -> None:
    count = len(ALL)
    tree = mount(enforce="cpuset", cpus=str(16 * count))
    (tree / "cgroup.subtree_control").write_text("+cpuset")
    (tree / "a").mkdir()
    (tree / "a" / "cpuset.cpus").write_text(str(3 * count + 1))
    pid = start()
    enter(tree / "a", pid)
    assert os.sched_getaffinity(pid) == SECOND


@pytest.mark.parametrize("kernel", ["5.10", "6.1"])
def test_v1_tasks_follow_too(mount: Mount, start: Start, kernel: str) -> None:
    tree = mount(layout="v1", enforce="cpuset", kernel=kernel) / "cpuset"
    (tree / "a").mkdir()
    (tree / "a" / "cpuset.mems").write_text("0")
    give(tree, SECOND)
    pid = start()
    (tree / "a" / "tasks").write_text(str(pid))
    there = os.sched_getaffinity(pid)
    (tree / "tasks").write_text(str(pid))
    assert (there, os.sched_getaffinity(pid)) == (SECOND, ALL)
