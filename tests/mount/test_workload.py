"""Simulated processes live in a mounted tree beside real ones (`mount --workload`)."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fakecgroup.tasks.tid import FIRST_SIMULATED

from ..waiting import wait_until
from .conftest import Mount, needs_fuse, needs_root, run
from .test_inotify import events, inotify, watch
from .test_processes import EVENT

__all__ = ["inotify"]

pytestmark = needs_fuse

BUSY = """
machine: {cpus: 3, memory: 1Gi}
cgroups:
  app: {cpu.max: "50000 100000", pids.max: 10}
workloads:
  - {name: busy, cgroup: app, instances: 2, loop: forever, phases: [{for: 10s, cpu: 1}]}
"""
SHORT = "workloads: [{cgroup: app, phases: [{for: 60s, cpu: 1}]}]"

Scenario = Callable[..., Path]


@pytest.fixture
def scenario(mount: Mount, tmp_path: Path) -> Scenario:
    """Mounts a tree with a scenario."""

    def mounted(text: str, **options: str) -> Path:
        file = tmp_path / "scenario.yaml"
        file.write_text(text)
        return mount(workload=str(file), **options)

    return mounted


def pids(cgroup: Path) -> list[int]:
    return [int(line) for line in (cgroup / "cgroup.procs").read_text().split()]


def number(file: Path, key: str) -> int:
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[0] == key)


def test_they_are_listed_beside_real_processes(
    scenario: Scenario, sleeper: Callable[..., subprocess.Popen[bytes]]
) -> None:
    tree = scenario(BUSY)
    real = sleeper().pid
    (tree / "app" / "cgroup.procs").write_text(str(real))
    assert sorted(pids(tree / "app"))[0] == real
    assert all(pid >= FIRST_SIMULATED for pid in sorted(pids(tree / "app"))[1:])
    assert (tree / "app" / "pids.current").read_text() == "3\n"


def test_the_machine_is_the_scenarios(scenario: Scenario) -> None:
    assert (scenario(BUSY) / "cpuset.cpus.effective").read_text() == "0-2\n"


def test_an_option_that_is_given_wins_over_the_scenarios_machine(scenario: Scenario) -> None:
    assert (scenario(BUSY, cpus="2") / "cpuset.cpus.effective").read_text() == "0-1\n"


def test_what_they_use_grows_as_time_passes(scenario: Scenario) -> None:
    stat = scenario(BUSY, speed="20") / "app" / "cpu.stat"
    wait_until(lambda: number(stat, "nr_throttled") > 20)
    assert number(stat, "usage_usec") > 0


@pytest.fixture
def fast_group(mount: Mount) -> Path:
    """A cgroup in a tree in which a minute takes a second."""
    group = mount(speed="60") / "app"
    group.mkdir()
    return group


def add(tree: Path, text: str) -> None:
    assert run("ctl", tree, "workload", "add", "-", input=text, stdin=None).stderr == ""


def test_a_poll_is_woken_when_one_comes_and_when_it_exits_by_itself(fast_group: Path) -> None:
    with (fast_group / "cgroup.events").open("rb", buffering=0) as file:
        file.read()
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        add(fast_group.parent, SHORT)
        seen = []
        while b"populated 0" not in seen:
            assert poller.poll(30_000) == [(file.fileno(), EVENT)]
            seen.append(os.pread(file.fileno(), 11, 0))
    assert seen == [b"populated 1", b"populated 0"]


PRESSED = """
machine: {cpus: 1}
cgroups: {app: }
workloads: [{cgroup: app, instances: 2, loop: forever, phases: [{for: 1h, cpu: 1}]}]
"""


@needs_root
def test_a_poll_of_a_pressure_trigger_is_woken(scenario: Scenario) -> None:
    tree = scenario(PRESSED)
    trigger = os.open(tree / "app" / "cpu.pressure", os.O_RDWR)
    try:
        os.write(trigger, b"some 100000 500000")
        poller = select.poll()
        poller.register(trigger, select.POLLPRI)
        assert poller.poll(9000) == [(trigger, select.POLLPRI)]
    finally:
        os.close(trigger)


def test_inotify_tells_that_one_comes_and_that_it_exits_by_itself(fast_group: Path, inotify: int) -> None:
    watch(inotify, fast_group / "cgroup.events")
    add(fast_group.parent, SHORT)
    told: list[tuple[int, str]] = []

    def both() -> bool:
        told.extend(events(inotify, patience=1))
        return len(told) >= 2

    wait_until(both, 20)


def test_cgroup_kill_ends_both_kinds(scenario: Scenario, sleeper: Callable[..., subprocess.Popen[bytes]]) -> None:
    tree = scenario(BUSY)
    real = sleeper()
    (tree / "app" / "cgroup.procs").write_text(str(real.pid))
    (tree / "app" / "cgroup.kill").write_text("1")
    assert real.wait(30) == -signal.SIGKILL
    wait_until(lambda: "populated 0" in (tree / "app" / "cgroup.events").read_text())
    assert pids(tree / "app") == []


def test_they_can_be_moved(scenario: Scenario) -> None:
    tree = scenario(BUSY)
    (tree / "other").mkdir()
    (tree / "other" / "cgroup.procs").write_text(str(pids(tree / "app")[0]))
    assert (len(pids(tree / "app")), len(pids(tree / "other"))) == (1, 1)


def test_frozen_ones_use_nothing(scenario: Scenario) -> None:
    tree = scenario(BUSY, speed="20")
    wait_until(lambda: number(tree / "app" / "cpu.stat", "usage_usec") > 0)
    (tree / "app" / "cgroup.freeze").write_text("1")
    assert "frozen 1" in (tree / "app" / "cgroup.events").read_text()
    used = number(tree / "app" / "cpu.stat", "usage_usec")
    wait_until(lambda: number(tree / "cpu.stat", "usage_usec") > 0)
    assert number(tree / "app" / "cpu.stat", "usage_usec") == used


def test_a_cgroup_is_busy_while_they_are_in_it(scenario: Scenario) -> None:
    tree = scenario(BUSY)
    with pytest.raises(OSError, match="busy"):
        (tree / "app").rmdir()


def test_a_wrong_scenario_is_one_line_and_nothing_is_mounted(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("cgroups: {app: {cpu.max: nonsense}}")
    done = run("mount", directory, "--workload", tmp_path / "wrong.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "wrong.yaml:1:26: the kernel refuses 'nonsense' for app/cpu.max: Invalid argument" in done.stderr
    assert list(directory.iterdir()) == []


def test_a_scenario_that_is_missing_is_one_line(directory: Path) -> None:
    done = run("mount", directory, "--workload", "/nowhere.yaml")
    assert (done.returncode, done.stderr) == (1, "fakecgroup mount: /nowhere.yaml: No such file or directory\n")


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast", "1e9"])
def test_a_wrong_speed_is_refused(directory: Path, speed: str) -> None:
    done = run("mount", directory, f"--speed={speed}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is no speed" in done.stderr


def test_fusepy_has_no_simulated_processes(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "busy.yaml").write_text(BUSY)
    done = run("mount", directory, "--workload", tmp_path / "busy.yaml", "--transport", "fusepy")
    assert (done.returncode, done.stderr) == (
        2,
        "fakecgroup mount: --workload: simulated processes take --transport native\n",
    )


def test_an_expectation_is_left_out_with_one_line(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "busy.yaml").write_text(BUSY + "expect: [{time: 1s, killed: 0}]")
    done = run("mount", directory, "--workload", tmp_path / "busy.yaml")
    assert done.returncode == 0
    assert done.stderr == (
        f"fakecgroup mount: {tmp_path}/busy.yaml:7:10: expect is not looked at here; fakecgroup simulate does that\n"
    )


def test_the_socket_goes_away_with_the_daemon(mount: Mount) -> None:
    tree = mount()
    path = Path(os.fsdecode(os.getxattr(tree, "user.fakecgroup.control")))
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert run("umount", tree).returncode == 0
    assert not path.exists()


def test_the_socket_of_a_killed_daemon_is_removed_by_the_next(mount: Mount) -> None:
    path = Path(os.fsdecode(os.getxattr(mount(), "user.fakecgroup.control"))).with_name("0-999999.sock")
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(path))
    mount()
    assert not path.exists()


def test_a_pressure_trigger_wakes_who_polls(scenario: Scenario) -> None:
    tree = scenario(BUSY, speed="5")
    with open(tree / "app" / "cpu.pressure", "r+b", buffering=0) as file:
        file.write(b"some 150000 1000000")
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        assert poller.poll(20_000) == [(file.fileno(), select.POLLPRI)]
        assert poller.poll(20_000) == [(file.fileno(), select.POLLPRI)]


@pytest.mark.parametrize(("kernel", "sees"), [("5.10", False), ("6.12", True)])
def test_inotify_sees_the_event_of_a_trigger_on_later_kernels(
    scenario: Scenario, inotify: int, kernel: str, sees: bool
) -> None:
    """Booted: 5.10 no, 6.12 yes."""
    tree = scenario(BUSY, speed="5", kernel=kernel)
    with open(tree / "app" / "cpu.pressure", "r+b", buffering=0) as file:
        file.write(b"some 150000 1000000")
        watch(inotify, tree / "app" / "cpu.pressure")
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        assert poller.poll(20_000)
        assert bool(events(inotify, 2)) == sees
