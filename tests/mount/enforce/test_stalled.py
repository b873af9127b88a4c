"""Processes that a limit has stopped make pressure."""

from __future__ import annotations

import os

import pytest

from fakecgroup import Kernel, ProcessTable
from fakecgroup_mount.enforce.stalled import Stalled

SECOND = 1_000_000_000


class Clock:
    now = 1000 * SECOND

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kernel(clock: Clock) -> Kernel:
    """A process in a/b."""
    kernel = Kernel(processes=ProcessTable(), clock=clock)
    kernel.mkdir("a")
    kernel.mkdir("a/b")
    return kernel


def totals(kernel: Kernel, cgroup: str) -> list[int]:
    """µs of `some` and of `full`."""
    lines = kernel.read(f"{cgroup}/memory.pressure").splitlines()
    return [int(line.partition("total=")[2]) for line in lines]


def test_time_that_one_is_stopped_counts_in_all_cgroups_above(kernel: Kernel, clock: Clock) -> None:
    table = kernel.processes
    assert isinstance(table, ProcessTable)
    tgid = table.add()
    kernel.write("a/b/cgroup.procs", str(tgid))
    stalled = Stalled(kernel, "memory")
    stalled.begin(tgid)
    clock.now += 3 * SECOND
    stalled.settle()
    assert totals(kernel, "a/b") == totals(kernel, "a") == [3_000_000, 3_000_000]
    stalled.end(tgid)
    clock.now += 3 * SECOND
    stalled.settle()
    assert totals(kernel, "a/b") == [3_000_000, 3_000_000]
    assert totals(kernel, "a") == [3_000_000, 3_000_000]


def test_while_another_runs_not_all_stall(kernel: Kernel, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    table = kernel.processes
    assert isinstance(table, ProcessTable)
    tgid, other = table.add(), table.add()
    kernel.write("a/b/cgroup.procs", str(tgid))
    kernel.write("a/cgroup.procs", str(other))
    runs = lambda asked: clock.now if asked == other else 0  # noqa: E731
    monkeypatch.setattr("fakecgroup_mount.enforce.stalled.cpu_clock", runs)
    stalled = Stalled(kernel, "memory")
    stalled.begin(tgid)
    clock.now += 2 * SECOND
    stalled.settle()
    assert totals(kernel, "a/b") == [2_000_000, 2_000_000]
    some, full = totals(kernel, "a")
    assert (some, full) == (1_000_000, 1_000_000)  # one of two CPUs that had work


def test_v1_has_no_pressure(clock: Clock) -> None:
    kernel = Kernel("v1", processes=ProcessTable(), clock=clock)
    stalled = Stalled(kernel, "memory")
    stalled.begin(os.getpid())
    clock.now += SECOND
    stalled.settle()
    stalled.end(os.getpid())
