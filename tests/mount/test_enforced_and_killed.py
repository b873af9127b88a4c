"""Nobody stays stopped when the daemon of a mount that enforces limits is killed, and nobody's own stop is undone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.traced_holds import may_trace

from ..waiting import wait_until
from .conftest import Mount, daemon_of, needs_fuse
from .test_freezing import Sleeper, runs, state, stops

HELD = "t" if may_trace() else "T"


@pytest.fixture
def processes() -> Iterator[HostProcesses]:
    processes = HostProcesses(IdMap(os.geteuid(), os.getegid()))
    yield processes
    processes.release()


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
