"""cpuset: the CPUs of tasks, and CPUs that go and come.

Booted kernels were asked the same (families affinity, hotplug).
"""

from __future__ import annotations

from errno import EBUSY, EINVAL, EPERM, ESRCH

import pytest

from fakecgroup import Caller, Kernel

VERSIONS = ("5.10", "6.1", "6.12", "7.2")


def with_cpuset(version: str, cpus: str) -> tuple[Kernel, int]:
    """A kernel with these CPUs in /a, and a process there."""
    kernel = Kernel("v2", version, cpus=4)
    kernel.write("/cgroup.subtree_control", "+cpuset")
    kernel.mkdir("/a")
    kernel.write("/a/cpuset.cpus", cpus)
    pid = kernel.fork(1)
    kernel.write("/a/cgroup.procs", str(pid))
    return kernel, pid


@pytest.mark.parametrize("version", VERSIONS)
def test_a_task_has_the_cpus_of_its_cpuset(version: str) -> None:
    kernel, pid = with_cpuset(version, "1-2")
    assert kernel.affinity(pid) == 0b0110
    kernel.write("/a/cpuset.cpus", "3")
    assert kernel.affinity(pid) == 0b1000
    kernel.write("/cgroup.procs", str(pid))
    assert kernel.affinity(pid) == 0b1111


@pytest.mark.parametrize(("version", "left"), [("5.10", 0b1110), ("6.1", 0b1110), ("6.12", 0b0110), ("7.2", 0b0110)])
def test_kernels_from_6_2_on_remember_what_a_task_has_asked_for(version: str, left: int) -> None:
    kernel, pid = with_cpuset(version, "0-2")
    kernel.set_affinity(pid, 0b0110)
    kernel.write("/a/cpuset.cpus", "1-3")
    assert kernel.affinity(pid) == left


@pytest.mark.parametrize("version", VERSIONS)
def test_a_task_cannot_leave_its_cpuset_by_itself(version: str) -> None:
    kernel, pid = with_cpuset(version, "1-2")
    kernel.set_affinity(pid, 0b1100)
    assert kernel.affinity(pid) == 0b0100
    with pytest.raises(OSError) as refused:
        kernel.set_affinity(pid, 0b1000)
    assert refused.value.errno == EINVAL
    assert kernel.affinity(pid) == 0b0100


def test_another_users_task_is_not_to_be_pinned() -> None:
    kernel, pid = with_cpuset("6.12", "1-2")
    with pytest.raises(OSError) as refused:
        kernel.set_affinity(pid, 0b0010, Caller(1000, 1000))
    assert refused.value.errno == EPERM


def test_a_task_that_is_gone_has_no_cpus() -> None:
    kernel, pid = with_cpuset("6.12", "1-2")
    with pytest.raises(OSError) as refused:
        kernel.affinity(pid + 1)
    assert refused.value.errno == ESRCH


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cpu_that_is_taken_offline_leaves_all_effective_sets_until_it_is_back(version: str) -> None:
    kernel, pid = with_cpuset(version, "1-2")
    kernel.set_cpu_online(2, False)
    assert (kernel.read("/cpuset.cpus.effective"), kernel.read("/a/cpuset.cpus.effective")) == ("0-1,3\n", "1\n")
    assert kernel.affinity(pid) == 0b0010
    kernel.set_cpu_online(2, True)
    assert kernel.read("/a/cpuset.cpus.effective") == "1-2\n"
    assert kernel.affinity(pid) == 0b0110


@pytest.mark.parametrize("version", ["5.10", "6.1"])
def test_tasks_of_a_v1_cpuset_without_a_cpu_move_to_an_ancestor(version: str) -> None:
    kernel = Kernel("v1", version, cpus=4)
    for path, cpus in (("/cpuset/a", "1-2"), ("/cpuset/a/b", "2")):
        kernel.mkdir(path)
        kernel.write(f"{path}/cpuset.cpus", cpus)
        kernel.write(f"{path}/cpuset.mems", "0")
    pid = kernel.fork(1)
    kernel.write("/cpuset/a/b/tasks", str(pid))
    kernel.set_cpu_online(2, False)
    kernel.set_cpu_online(2, True)
    assert kernel.read("/cpuset/a/tasks") == f"{pid}\n"
    assert (kernel.read("/cpuset/a/cpuset.cpus"), kernel.read("/cpuset/a/b/cpuset.cpus")) == ("1\n", "\n")


@pytest.mark.parametrize("version", ["6.1", "7.2"])
def test_a_partition_with_tasks_is_invalid_while_it_has_no_cpu(version: str) -> None:
    kernel, _ = with_cpuset(version, "3")
    kernel.write("/a/cpuset.cpus.partition", "root")
    kernel.set_cpu_online(3, False)
    assert kernel.read("/a/cpuset.cpus.partition").startswith("root invalid")
    kernel.set_cpu_online(3, True)
    assert kernel.read("/a/cpuset.cpus.partition") == "root\n"


def test_6_12_keeps_the_last_cpu_of_a_partition() -> None:
    kernel, _ = with_cpuset("6.12", "3")
    kernel.write("/a/cpuset.cpus.partition", "root")
    with pytest.raises(OSError) as refused:
        kernel.set_cpu_online(3, False)
    assert refused.value.errno == EBUSY


def test_the_last_cpu_of_the_machine_stays() -> None:
    kernel = Kernel(cpus=2)
    kernel.set_cpu_online(0, False)
    with pytest.raises(OSError) as refused:
        kernel.set_cpu_online(1, False)
    assert refused.value.errno == EBUSY


def test_a_cpu_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="cpu: 4 is none of 0 to 3"):
        Kernel(cpus=4).set_cpu_online(4, False)
