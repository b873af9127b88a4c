"""Real processes that wait for a CPU make pressure in their cgroup and above."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel, ProcessTable
from fakecgroup.simulation.cpu_pressure import Piece
from fakecgroup_mount.enforce.cpu_pressure import Measured, count_stalls

SECOND = 1_000_000_000
ONE, TWO = frozenset({0}), frozenset({0, 1})


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel(processes=ProcessTable(), clock=lambda: 1000 * SECOND)
    kernel.mkdir("a")
    for name in ("a/b", "a/c"):
        kernel.mkdir(name)
    return kernel


def process(kernel: Kernel, cgroup: str, used: float, waited: float, cpus: frozenset[int] = ONE) -> Measured:
    """A process that has run and waited so many seconds of ten, with one thread."""
    table = kernel.processes
    assert isinstance(table, ProcessTable)
    tgid = table.add()
    kernel.write(f"{cgroup}/cgroup.procs", str(tgid))
    return Measured(tgid, Piece(used * SECOND, (used + waited) * SECOND, waited * SECOND, 1), cpus)


def seconds(kernel: Kernel, cgroup: str) -> list[float]:
    """Of `some` and of `full`."""
    lines = kernel.read(f"{cgroup}/cpu.pressure").splitlines()
    return [int(line.partition("total=")[2]) / 1e6 for line in lines]


def count(kernel: Kernel, *measured: Measured) -> None:
    count_stalls(kernel.hierarchies[-1], measured, 10 * SECOND)


def test_one_that_waits_stalls_its_cgroup_and_those_above(kernel: Kernel) -> None:
    count(kernel, process(kernel, "a/b", used=2, waited=8))
    assert [seconds(kernel, path) for path in ("a/b", "a", "")] == [[8, 8], [8, 8], [8, 0]]


def test_one_that_never_waits_makes_no_pressure(kernel: Kernel) -> None:
    count(kernel, process(kernel, "a/b", used=10, waited=0))
    assert seconds(kernel, "a/b") == [0, 0]


def test_while_somebody_runs_on_the_one_cpu_not_all_stall(kernel: Kernel) -> None:
    count(kernel, process(kernel, "a/b", used=7, waited=3), process(kernel, "a/c", used=3, waited=7))
    assert [seconds(kernel, path) for path in ("a/b", "a/c", "a")] == [[3, 3], [7, 7], [10, 0]]


def test_two_that_wait_on_two_cpus_stall_no_longer_than_one(kernel: Kernel) -> None:
    both = [process(kernel, "a/b", used=2.5, waited=7.5, cpus=TWO) for _ in range(2)]
    count(kernel, *both)
    assert seconds(kernel, "a/b") == [7.5, 7.5]
