"""Pressure on the CPU of simulated processes."""

from __future__ import annotations

import re

import pytest

from fakecgroup import Kernel, Workload

_BUSY = {"for": "10s", "cpu": 1}


def _stalled(kernel: Kernel, cgroup: str) -> tuple[float, float]:
    """Seconds of some and full in cpu.pressure."""
    some, full = re.findall(r"total=(\d+)", kernel.read(f"{cgroup}/cpu.pressure"))
    return int(some) / 1e6, int(full) / 1e6


def _kernel(cpus: int) -> Kernel:
    kernel = Kernel(cpus=cpus, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+cpu")
    return kernel


def test_a_throttled_task_waits() -> None:
    """6.12.117, 6 s of one busy task under a fifth of a CPU: some and full total 4.76 s."""
    kernel = _kernel(2)
    kernel.mkdir("/a")
    kernel.write("/a/cpu.max", "20000 100000")
    kernel.spawn("/a", Workload([_BUSY]))
    kernel.advance(6)
    assert _stalled(kernel, "/a") == pytest.approx((4.76, 4.76), rel=0.02)


def test_tasks_that_have_a_cpu_each_wait_for_nothing() -> None:
    kernel = _kernel(2)
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], instances=2))
    kernel.advance(6)
    assert _stalled(kernel, "/a") == (0, 0)


def test_the_root_has_no_full() -> None:
    """Documentation/accounting/psi.rst: full is undefined for the CPU at the system level, and 0."""
    kernel = _kernel(1)
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], instances=2))
    kernel.advance(6)
    assert _stalled(kernel, "/") == (6, 0)


def test_two_tasks_on_one_cpu_wait_in_turn_but_never_both() -> None:
    kernel = _kernel(1)
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], instances=2))
    kernel.advance(6)
    assert _stalled(kernel, "/a") == pytest.approx((6, 0))


def test_averages_fall_while_nothing_waits() -> None:
    kernel = _kernel(1)
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], instances=2))
    kernel.advance(9.9)
    before = kernel.read("/a/cpu.pressure")
    kernel.advance(300)
    after = kernel.read("/a/cpu.pressure")
    assert re.search(r"some avg10=[56]\d\.", before)
    assert re.search(r"some avg10=0\.00 avg60=[01]\.", after)


def test_nothing_stalls_while_nobody_waits() -> None:
    """Two threads on one CPU under a tenth: pressure is of the time in which they are throttled."""
    kernel = _kernel(2)
    kernel.write("/cgroup.subtree_control", "+cpuset")
    kernel.mkdir("/a")
    kernel.write("/a/cpuset.cpus", "0")
    kernel.write("/a/cpu.max", "5000 100000")
    kernel.spawn("/a", Workload([{"for": "10s", "cpu": "100m"}], threads=2))
    kernel.advance(10)
    some, full = _stalled(kernel, "/a")
    assert some <= 5.1
    assert full <= some
