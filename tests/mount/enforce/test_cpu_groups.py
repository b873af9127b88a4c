"""Groups and processes as the model has them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.enforce.cpu_groups import CpuGroups
from fakecgroup_mount.host.processes import HostProcesses


@pytest.fixture
def kernel(processes: HostProcesses) -> Kernel:
    """cpu is on in a and in a/b, not in a/b/c."""
    kernel = Kernel(processes=processes)
    kernel.write("cgroup.subtree_control", "+cpu")
    kernel.mkdir("a")
    kernel.write("a/cgroup.subtree_control", "+cpu")
    for name in ("a/b", "a/b/c"):
        kernel.mkdir(name)
    return kernel


@pytest.fixture
def pid() -> Iterator[int]:
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process.pid
        process.kill()


def move(kernel: Kernel, path: str, pid: int) -> None:
    kernel.write(f"{path}/cgroup.procs", str(pid))


def gathered(kernel: Kernel, groups: CpuGroups | None = None) -> CpuGroups:
    groups = groups or CpuGroups(kernel, 2, frozenset())
    groups.gather()
    return groups


def test_a_process_counts_in_the_nearest_group_above(kernel: Kernel, pid: int) -> None:
    move(kernel, "a/b/c", pid)
    kernel.write("a/b/cpu.weight", "200")
    node = gathered(kernel).runners[pid].contestant.node
    assert (node.weight, node.parent is not None and node.parent.weight) == (2048, 1024)


def test_an_idle_group_has_the_weight_of_an_idle_task(kernel: Kernel, pid: int) -> None:
    move(kernel, "a", pid)
    kernel.write("a/cpu.idle", "1")
    assert gathered(kernel).runners[pid].contestant.node.weight == 3


def test_the_quotas_of_all_groups_above_count(kernel: Kernel, pid: int) -> None:
    move(kernel, "a/b/c", pid)
    kernel.write("a/cpu.max", "10000 50000")
    kernel.write("a/b/cpu.max", "10000")
    runner = gathered(kernel).runners[pid]
    assert [one.css.cgroup.path for one in runner.limited] == ["/a", "/a/b"]
    assert (runner.contestant.node.most, runner.contestant.node.parent and runner.contestant.node.parent.most) == (
        0.1,
        0.2,
    )


def test_a_process_that_goes_to_the_root_is_gone(kernel: Kernel, pid: int) -> None:
    move(kernel, "a", pid)
    groups = gathered(kernel)
    runner = groups.runners[pid]
    kernel.write("cgroup.procs", str(pid))
    assert (groups.gather(), groups.runners) == ([runner], {})


def test_a_process_that_moves_stays_the_same(kernel: Kernel, pid: int) -> None:
    move(kernel, "a/b/c", pid)
    groups = gathered(kernel)
    runner = groups.runners[pid]
    move(kernel, "a/b", pid)
    assert (groups.gather(), groups.runners) == ([], {pid: runner})


def test_this_process_and_its_children_are_spared(kernel: Kernel, pid: int) -> None:
    move(kernel, "a", pid)
    assert gathered(kernel).runners[pid].contestant.spared


def test_a_limit_that_is_taken_back_throttles_nobody(kernel: Kernel, pid: int) -> None:
    move(kernel, "a", pid)
    kernel.write("a/cpu.max", "1000")
    groups = gathered(kernel)
    groups.runners[pid].limited[0].quota.group.throttled = True
    kernel.write("a/cpu.max", "max")
    gathered(kernel, groups)
    assert not groups.runners[pid].waits


def test_cgroups_as_deep_as_one_likes_are_gathered(kernel: Kernel, pid: int) -> None:
    path = "a/b"
    for _ in range(1500):
        path += "/d"
        kernel.mkdir(path)
    move(kernel, path, pid)
    assert pid in gathered(kernel).runners


def halted(kernel: Kernel, path: str) -> int:
    """ms for which tasks waited while a cgroup or one above was throttled."""
    return int(kernel.read(f"{path}/cpu.stat.local").split()[1]) // 1000


@pytest.fixture
def throttled(kernel: Kernel, pid: int) -> CpuGroups:
    """The process is in a/b, with three threads that wait for quotas in a and a/b."""
    move(kernel, "a/b", pid)
    kernel.write("a/cpu.max", "1000")
    kernel.write("a/b/cpu.max", "1000")
    groups = gathered(kernel)
    groups.runners[pid].held = 3
    for one in groups.runners[pid].limited:
        one.quota.group.throttled = True
    return groups


def test_time_below_a_throttled_group_counts_for_each_cpu(kernel: Kernel, throttled: CpuGroups, pid: int) -> None:
    outer, _ = throttled.runners[pid].limited
    throttled.count_halted(outer, 80_000_000)
    assert [halted(kernel, path) for path in ("a", "a/b")] == [160, 160]


def test_time_below_two_throttled_groups_counts_once(kernel: Kernel, throttled: CpuGroups, pid: int) -> None:
    for one in throttled.runners[pid].limited:
        throttled.count_halted(one, 80_000_000)
    assert halted(kernel, "a/b") == 160


def test_time_of_an_inner_group_alone_does_not_count_above(kernel: Kernel, throttled: CpuGroups, pid: int) -> None:
    outer, inner = throttled.runners[pid].limited
    outer.quota.group.throttled = False
    throttled.count_halted(inner, 80_000_000)
    assert [halted(kernel, path) for path in ("a", "a/b")] == [0, 160]
