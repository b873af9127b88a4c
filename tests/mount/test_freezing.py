"""Frozen cgroups hold real processes."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses

from ..waiting import wait_until
from .conftest import Mount, daemon_of, run, shell
from .test_forks import Family

Sleeper = Callable[..., "subprocess.Popen[bytes]"]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stops(pid: int) -> bool:
    return wait_until(lambda: state(pid) == "T")


def runs(pid: int) -> bool:
    return wait_until(lambda: state(pid) == "S")


@pytest.fixture
def freezer_group(v1: Path, cpu_group: Path) -> Iterator[Path]:
    """A cgroup of the v1 freezer hierarchy for one test."""
    directory = v1 / "freezer" / cpu_group.name
    directory.mkdir()
    yield directory
    (directory / "freezer.state").write_text("THAWED")
    directory.rmdir()


def test_freezing_stops_and_thawing_continues(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    (group / "cgroup.freeze").write_text("1")
    stopped = stops(process.pid)
    (group / "cgroup.freeze").write_text("0")
    assert (stopped, runs(process.pid)) == (True, True)


def test_freezing_reaches_the_whole_subtree_and_children(group: Path) -> None:
    family = Family()
    try:
        (group / "a").mkdir()
        (group / "a" / "cgroup.procs").write_text(str(family.pid))
        child = family.fork()
        (group / "cgroup.freeze").write_text("1")
        assert (stops(family.pid), stops(child)) == (True, True)
    finally:
        family.end()


def test_a_process_below_a_frozen_cgroup_stays_stopped(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "a").mkdir()
    (group / "a" / "cgroup.procs").write_text(str(process.pid))
    for freeze in (group, group / "a"):
        (freeze / "cgroup.freeze").write_text("1")
    (group / "a" / "cgroup.freeze").write_text("0")
    assert stops(process.pid)


def test_a_process_that_is_moved_stops_and_continues(v2: Path, group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.freeze").write_text("1")
    (group / "cgroup.procs").write_text(str(process.pid))
    stopped = stops(process.pid)
    (v2 / "cgroup.procs").write_text(str(process.pid))
    assert (stopped, runs(process.pid)) == (True, True)


def test_a_frozen_process_can_be_killed(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    (group / "cgroup.freeze").write_text("1")
    (group / "cgroup.kill").write_text("1")
    assert process.wait(60) == -signal.SIGKILL


def test_a_writer_that_freezes_itself_stops_after_its_write(group: Path) -> None:
    script = "echo 0 > cgroup.procs; echo 1 > cgroup.freeze; echo thawed"
    with subprocess.Popen(["sh", "-c", script], cwd=group, stdout=subprocess.PIPE, text=True) as process:
        stopped = stops(process.pid)
        (group / "cgroup.freeze").write_text("0")
        assert (stopped, process.communicate(timeout=60)[0], process.returncode) == (True, "thawed\n", 0)


def test_who_was_stopped_before_stays_stopped_after(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    process.send_signal(signal.SIGSTOP)
    assert stops(process.pid)
    (group / "cgroup.procs").write_text(str(process.pid))
    for value in "10":
        (group / "cgroup.freeze").write_text(value)
    assert state(process.pid) == "T"


def test_v1_freezes_and_thaws(freezer_group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (freezer_group / "tasks").write_text(str(process.pid))
    (freezer_group / "freezer.state").write_text("FROZEN")
    stopped = stops(process.pid)
    (freezer_group / "freezer.state").write_text("THAWED")
    assert (stopped, runs(process.pid)) == (True, True)
    process.kill()
    process.wait()


@pytest.mark.parametrize("end", ["umount", "SIGTERM"])
def test_the_end_of_the_mount_continues_what_is_frozen(mount: Mount, sleeper: Sleeper, end: str) -> None:
    tree, process = mount(), sleeper()
    (tree / "a").mkdir()
    (tree / "a" / "cgroup.procs").write_text(str(process.pid))
    (tree / "a" / "cgroup.freeze").write_text("1")
    stopped = stops(process.pid)
    if end == "umount":
        assert run("umount", tree).returncode == 0
    else:
        os.kill(daemon_of(tree), signal.SIGTERM)
    assert (stopped, runs(process.pid)) == (True, True)


def test_a_daemon_that_is_killed_leaves_nobody_stopped(mount: Mount, sleeper: Sleeper) -> None:
    tree, frozen, thawed, others = mount(), sleeper(), sleeper(), sleeper()
    for process, name in ((frozen, "a"), (thawed, "b")):
        (tree / name).mkdir()
        (tree / name / "cgroup.procs").write_text(str(process.pid))
        (tree / name / "cgroup.freeze").write_text("1")
    (tree / "b" / "cgroup.freeze").write_text("0")
    for process in (thawed, others):
        process.send_signal(signal.SIGSTOP)
    stopped = all(stops(process.pid) for process in (frozen, thawed, others))
    os.kill(daemon_of(tree), signal.SIGKILL)
    assert (stopped, runs(frozen.pid), state(thawed.pid), state(others.pid)) == (True, True, "T", "T")


def test_the_daemon_does_not_stop_itself(mount: Mount) -> None:
    tree = mount()
    script = f"mkdir a && echo {daemon_of(tree)} > a/cgroup.procs && echo 1 > a/cgroup.freeze && cat a/cgroup.freeze"
    assert shell(script, tree) == (0, "1\n", "")


def test_init_and_kernel_threads_are_never_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *what: sent.append(what))
    processes = HostProcesses(IdMap(0, 0))
    for pid in (1, 2, os.getpid()):
        processes.freeze(pid, True)
    assert sent == []
