"""What a moment of virtual time costs as processes grow in number: counted in calls of functions, never in time."""

from __future__ import annotations

import sys

import pytest

from fakecgroup import Kernel, Workload

_LIMITS = {"none": {}, "cpu.max": {"cpu.max": "100000 100000"}, "memory.max": {"memory.max": "1G"}}


def _calls(kernel: Kernel, seconds: float) -> int:
    """How many functions of Python were called to let so much time pass."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        kernel.advance(seconds)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("limit", _LIMITS)
def test_processes_that_live_together_cost_as_many_times_as_much_as_there_are(limit: str) -> None:
    def cost(instances: int) -> int:
        kernel = Kernel(cpus=4, memory="64Gi", clock=lambda: 0)
        kernel.write("/cgroup.subtree_control", "+cpu +memory")
        kernel.mkdir("/a")
        for file, text in _LIMITS[limit].items():
            kernel.write(f"/a/{file}", text)
        phases = [{"for": "1s", "cpu": 0.5, "memory": "2Mi"}, {"for": "1s", "cpu": 0.1, "memory": "1Mi"}]
        kernel.spawn("/a", Workload(phases, instances=instances))
        return _calls(kernel, 3)  # they begin, change and exit

    assert cost(400) < 5 * cost(100)
