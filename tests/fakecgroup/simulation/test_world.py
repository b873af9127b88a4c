"""The event loop, with a resource of which the test says what it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import pytest

from fakecgroup import Kernel, Workload
from fakecgroup.simulation.process import Process
from fakecgroup.simulation.world import World

_SECOND = 1_000_000_000


class _Memory:
    """A resource that does something to every process at a time."""

    name = "memory"

    def __init__(self, at: int, then: Callable[[Process], None]) -> None:
        self._at, self._then = at, then
        self._processes: Collection[Process] = ()

    def gather(self, processes: Collection[Process]) -> None:
        self._processes = processes

    def begin(self, process: Process) -> None:
        pass

    def resolve(self) -> None:
        pass

    def next(self, until: int) -> int:
        return min(until, self._at)

    def advance(self, until: int) -> None:
        if until == self._at:
            self._at += 1000 * _SECOND
            for process in list(self._processes):
                self._then(process)


@pytest.fixture
def kernel() -> Kernel:
    made = Kernel(cpus=1, clock=lambda: 0)
    made.write("/cgroup.subtree_control", "+cpu +memory")
    made.mkdir("/a")
    return made


def _world(kernel: Kernel) -> World:
    return kernel._simulation()


def test_a_process_that_a_resource_kills_is_gone_and_counted(kernel: Kernel) -> None:
    world = _world(kernel)
    world.resources[-2] = _Memory(3 * _SECOND, lambda process: world.kill(process.pid))
    kernel.spawn("/a", Workload([{"for": "10s", "cpu": 1}]))
    kernel.advance(5)
    assert kernel.read("/a/cgroup.procs") == ""
    assert kernel.killed("/a") == 1
    assert kernel.read("/a/cpu.stat").startswith("usage_usec 3000000\n")


def test_a_process_that_a_resource_lets_wait_uses_no_cpu(kernel: Kernel) -> None:
    world = _world(kernel)
    world.resources[-2] = _Memory(3 * _SECOND, lambda process: process.waits.update(memory=1.0))
    kernel.spawn("/a", Workload([{"for": "10s", "cpu": 1}]))
    kernel.advance(5)
    assert kernel.read("/a/cpu.stat").startswith("usage_usec 3000000\n")


@pytest.mark.parametrize("cgroup", ["/a", "/"])
def test_stalls_are_counted_in_the_cgroup_and_above(kernel: Kernel, cgroup: str) -> None:
    world = _world(kernel)
    world.resources[-2] = _Memory(3 * _SECOND, lambda process: process.waits.update(memory=1.0))
    kernel.spawn("/a", Workload([{"for": "10s", "cpu": 1}]))
    kernel.advance(5)
    assert re.findall(r"total=(\d+)", kernel.read(f"{cgroup}/memory.pressure")) == ["2000000", "2000000"]
    assert re.findall(r"total=(\d+)", kernel.read(f"{cgroup}/io.pressure")) == ["0", "0"]
