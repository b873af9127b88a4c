"""Who gets how much CPU, where quotas and cpusets meet the number of CPUs."""

from __future__ import annotations

import re

import pytest

from fakecgroup import Kernel, Workload

_BUSY = Workload([{"for": "100s", "cpu": 1}])


def _kernel(cgroup_files: dict[str, str], *, tasks: int) -> Kernel:
    kernel = Kernel(cpus=2, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+cpu +cpuset")
    kernel.mkdir("/a")
    for name, text in cgroup_files.items():
        kernel.write(f"/a/{name}", text)
    for _ in range(tasks):
        kernel.spawn("/a", _BUSY)
    return kernel


def _number(kernel: Kernel, file: str, pattern: str) -> float:
    found = re.search(pattern, kernel.read(f"/a/{file}"))
    assert found is not None
    return int(found[1]) / 1e6


def test_three_tasks_that_are_not_throttled_run_on_the_cpus_that_there_are() -> None:
    kernel = _kernel({"cpu.max": "120000 100000"}, tasks=3)
    kernel.advance(10)
    assert _number(kernel, "cpu.stat", r"throttled_usec (\d+)") == pytest.approx(8.0, rel=0.02)


def test_a_new_burst_is_there_in_the_first_period() -> None:
    kernel = _kernel({"cpu.max": "20000 100000", "cpu.max.burst": "15000"}, tasks=0)
    kernel.spawn("/a", Workload([{"run": "30ms"}, {"sleep": "1s"}]))
    kernel.advance(1)
    assert _number(kernel, "cpu.stat", r"nr_throttled (\d+)") == 0


def test_tasks_of_one_cpu_wait_for_each_other_whatever_the_others_do() -> None:
    kernel = _kernel({"cpuset.cpus": "1"}, tasks=2)
    kernel.advance(10)
    assert _number(kernel, "cpu.pressure", r"some .*total=(\d+)") == pytest.approx(10.0, rel=0.01)
    assert _number(kernel, "cpu.pressure", r"full .*total=(\d+)") == pytest.approx(0.0, abs=0.01)
