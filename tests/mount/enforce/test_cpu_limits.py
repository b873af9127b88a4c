"""When the processes of limited groups are looked at."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.enforce.cpu_limits import CpuLimits
from fakecgroup_mount.enforce.holds import Holding
from fakecgroup_mount.host.processes import HostProcesses

SOON, LATER = 0.01, 0.03  # seconds


class Clock:
    """The time of `time.monotonic_ns`: it stands still, however busy the machine is."""

    def __init__(self) -> None:
        self.now = time.monotonic_ns()

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic_ns", clock)
    return clock


@pytest.fixture
def kernel(processes: HostProcesses) -> Kernel:
    kernel = Kernel(processes=processes)
    kernel.write("cgroup.subtree_control", "+cpu")
    kernel.mkdir("a")
    return kernel


@pytest.fixture
def limits(kernel: Kernel, processes: HostProcesses, clock: Clock) -> CpuLimits:
    """They have looked just now, and nobody ran."""
    lock = threading.Lock()
    limits = CpuLimits(kernel, Holding(processes, lock), lock)
    limits.gather()
    limits.look()
    return limits


@pytest.fixture
def process(kernel: Kernel) -> Iterator[None]:
    """One that has come into the group since."""
    with subprocess.Popen(["sleep", "300"]) as process:
        kernel.write("a/cgroup.procs", str(process.pid))
        yield
        process.kill()


def test_a_process_that_comes_under_a_quota_is_looked_at_soon(kernel: Kernel, limits: CpuLimits, process: None) -> None:
    kernel.write("a/cpu.max", "1000")
    limits.gather()
    assert limits.look() <= SOON


def test_without_a_quota_it_has_time(kernel: Kernel, limits: CpuLimits, process: None) -> None:
    limits.gather()
    assert limits.look() > LATER


PERIOD = 100_000_000  # ns
BUSY = "import time; input()\nwhile time.process_time() < 0.1: pass"


def test_what_a_process_has_used_that_came_and_went_is_paid_by_the_periods_that_follow(
    kernel: Kernel, limits: CpuLimits, clock: Clock
) -> None:
    kernel.write("a/cpu.max", "10000 100000")
    limits.gather()
    with subprocess.Popen([sys.executable, "-S", "-c", BUSY], stdin=subprocess.PIPE) as process:
        kernel.write("a/cgroup.procs", str(process.pid))
        process.communicate(b"\n")
    limits.gather()
    for _ in range(12):
        clock.now += PERIOD // 4
        limits.look()
    assert "nr_throttled 2" in kernel.read("a/cpu.stat")
