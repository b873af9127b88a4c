"""Nobody stays stopped when the daemon of a mount that enforces limits is killed, and nobody's own stop is undone."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.traced_holds import may_trace

from ..waiting import wait_until
from .conftest import COMMAND, REPOSITORY, Mount, daemon_of, is_alive, needs_fuse, take_down
from .test_freezing import Sleeper, runs, state, stops

KILLED_DAEMONS = int(os.environ.get("FAKECGROUP_KILLED_DAEMONS", "3"))
HELD = "t" if may_trace() else "T"


@pytest.fixture
def held(processes: HostProcesses, sleeper: Sleeper) -> subprocess.Popen[bytes]:
    """A process that is stopped for two limits. Its parent is in another process group, else SIGTSTP does nothing."""
    process = sleeper(preexec_fn=os.setpgrp)
    processes.watch(process.pid)
    for why in ("one", "two"):
        processes.hold(process.pid, why)
    assert stops(process.pid)
    return process


def test_it_goes_on_when_no_reason_is_left(processes: HostProcesses, held: subprocess.Popen[bytes]) -> None:
    processes.let_go(held.pid, "one")
    still = state(held.pid)
    processes.let_go(held.pid, "two")
    assert (still, runs(held.pid)) == ("T", True)


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_stop_that_came_meanwhile_holds(
    processes: HostProcesses, held: subprocess.Popen[bytes], number: signal.Signals
) -> None:
    held.send_signal(number)
    for why in ("one", "two"):
        processes.let_go(held.pid, why)
    assert (runs_for_a_while(held.pid), stops(held.pid)) == (False, True)


def runs_for_a_while(pid: int) -> bool:
    return all(state(pid) == "S" for _ in range(100))


def test_one_that_others_have_stopped_is_not_continued(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    process.send_signal(signal.SIGSTOP)
    assert stops(process.pid)
    processes.watch(process.pid)
    processes.hold(process.pid, "limit")
    processes.let_go(process.pid, "limit")
    assert state(process.pid) == "T"


@needs_fuse
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_that_ends_leaves_everybody_running(mount: Mount, number: signal.Signals) -> None:
    tree = mount(enforce="cpu")
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            (tree / "cgroup.subtree_control").write_text("+cpu")
            (tree / "a").mkdir()
            (tree / "a" / "cpu.max").write_text("1000 1000000")
            (tree / "a" / "cgroup.procs").write_text(str(busy.pid))
            wait_until(lambda: state(busy.pid) == HELD)
            os.kill(daemon_of(tree), number)
            assert wait_until(lambda: state(busy.pid) == "R")
        finally:
            busy.kill()


@contextmanager
def started(*program: str) -> Iterator[list[int]]:
    """Ten processes, or 50 if many daemons are killed. The tests beside them go first."""
    number = 10 if KILLED_DAEMONS < 10 else 50
    processes = [subprocess.Popen(["nice", "-n", "19", *program]) for _ in range(number)]
    yield [process.pid for process in processes]
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def busy_processes() -> Iterator[list[int]]:
    with started("sh", "-c", "while :; do :; done") as pids:
        yield pids


@pytest.fixture
def growing_processes() -> Iterator[list[int]]:
    """Each grows by up to 8 MiB, and gives it back, again and again."""
    with started(sys.executable, "-S", "-c", "while True: x = [bytearray(1 << 20) for _ in range(8)]") as pids:
        yield pids


FILL = """
set -e; echo +cpu +memory >cgroup.subtree_control
for number in 1 2 3 4 5 6 7 8 9 10; do
    mkdir $number; echo ${number}000 50000 >$number/cpu.max; echo 1M >$number/memory.max
done
while [ $# != 0 ]; do
    number=$(($# % 10 + 1)); echo $1 >$number/cgroup.procs; shift
done
"""
"""Puts processes into ten cgroups with little CPU time and too little memory for what they will touch."""
FILL_OVER_HIGH = """
set -e; echo +memory >cgroup.subtree_control; mkdir a; echo 1M >a/memory.high
for pid; do echo $pid >a/cgroup.procs; done
"""
WITHOUT_PTRACE = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]


@needs_fuse
@pytest.mark.hostile("SIGKILL to a daemon that holds processes for limits, at any moment", times=3)
@pytest.mark.timeout(120 * max(1, KILLED_DAEMONS // 3))
@pytest.mark.parametrize("by", [pytest.param([], id="traced"), pytest.param(WITHOUT_PTRACE, id="stopped")])
def test_daemons_that_are_killed_at_any_moment_leave_nobody_held_and_nobody_dead(
    by: list[str], busy_processes: list[int], public_directory: Callable[[], Path], state_home: Path
) -> None:
    kill_daemons(by, FILL, busy_processes, public_directory)


@needs_fuse
@pytest.mark.hostile("SIGKILL to a daemon that holds processes for memory.high, at any moment", times=3)
@pytest.mark.timeout(120 * max(1, KILLED_DAEMONS // 3))
@pytest.mark.parametrize("by", [pytest.param([], id="traced"), pytest.param(WITHOUT_PTRACE, id="stopped")])
def test_daemons_that_are_killed_while_processes_wait_for_memory_leave_nobody_held_and_nobody_dead(
    by: list[str], growing_processes: list[int], public_directory: Callable[[], Path], state_home: Path
) -> None:
    kill_daemons(by, FILL_OVER_HIGH, growing_processes, public_directory)


def kill_daemons(by: list[str], fill: str, pids: list[int], public_directory: Callable[[], Path]) -> None:
    """Puts processes into trees of daemons that are killed while somebody is held, or soon after."""
    if by and shutil.which(by[0]) is None:
        pytest.skip("no setpriv")
    random_time = random.Random(19)
    for _ in range(KILLED_DAEMONS):
        tree = public_directory()
        subprocess.run([*by, *COMMAND, "mount", tree, "--enforce", "all"], cwd=REPOSITORY, check=True, timeout=60)
        try:
            subprocess.run([*by, "sh", "-c", fill, "sh", *map(str, pids)], cwd=tree, check=True, timeout=60)
            wait_until(lambda: any(state(pid) in "Tt" for pid in pids))
            time.sleep(random_time.uniform(0, 0.5))
            os.kill(daemon_of(tree), signal.SIGKILL)
            wait_until(lambda: all(state(pid) not in "Tt" for pid in pids))
            assert all(is_alive(pid) for pid in pids)
        finally:
            take_down(tree)
