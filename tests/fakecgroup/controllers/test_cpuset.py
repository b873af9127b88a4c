"""cpuset: the rules that people get wrong."""

from __future__ import annotations

from errno import E2BIG, EACCES, EBUSY, EINVAL, ENOSPC, ERANGE

import pytest

from fakecgroup import Caller, Kernel


def refusal(kernel: Kernel, path: str, value: str) -> int | None:
    """The errno that a write is refused with."""
    with pytest.raises(OSError) as refused:
        kernel.write(path, value)
    return refused.value.errno


def unified(version: str) -> Kernel:
    """A kernel with cpuset in /a, /b and /a/c, on four CPUs and two nodes."""
    kernel = Kernel("v2", version, cpus=4, numa_nodes=2)
    kernel.write("/cgroup.subtree_control", "+cpuset")
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.subtree_control", "+cpuset")
    for path in ("/b", "/a/c"):
        kernel.mkdir(path)
    return kernel


@pytest.fixture(params=["5.10", "6.1"])
def v1(request: pytest.FixtureRequest) -> Kernel:
    kernel = Kernel("v1", request.param, cpus=4, numa_nodes=2)
    kernel.mkdir("/cpuset/a")
    return kernel


def test_a_v1_cpuset_takes_no_task_before_it_has_cpus_and_nodes(v1: Kernel) -> None:
    assert refusal(v1, "/cpuset/a/tasks", "1") == ENOSPC
    v1.write("/cpuset/a/cpuset.cpus", "0")
    assert refusal(v1, "/cpuset/a/tasks", "1") == ENOSPC
    v1.write("/cpuset/a/cpuset.mems", "0")
    v1.write("/cpuset/a/tasks", "1")
    assert refusal(v1, "/cpuset/a/cpuset.cpus", "\n") == ENOSPC


def test_a_v1_child_has_nothing_that_its_parent_has_not(v1: Kernel) -> None:
    v1.mkdir("/cpuset/a/b")
    assert refusal(v1, "/cpuset/a/b/cpuset.cpus", "0") == EACCES
    v1.write("/cpuset/a/cpuset.cpus", "0-1")
    v1.write("/cpuset/a/b/cpuset.cpus", "1")
    assert refusal(v1, "/cpuset/a/cpuset.cpus", "0") == EBUSY


def test_a_v1_clone_copies_the_sets_of_its_parent_and_no_flag(v1: Kernel) -> None:
    v1.write("/cpuset/a/cpuset.cpus", "0-1")
    v1.write("/cpuset/a/cpuset.memory_migrate", "1")
    v1.write("/cpuset/a/cgroup.clone_children", "1")
    v1.mkdir("/cpuset/a/b")
    assert v1.read("/cpuset/a/b/cpuset.cpus") == "0-1\n"
    assert v1.read("/cpuset/a/b/cpuset.memory_migrate") == "0\n"


def test_an_exclusive_v1_cpuset_has_an_exclusive_parent(v1: Kernel) -> None:
    v1.mkdir("/cpuset/a/b")
    assert refusal(v1, "/cpuset/a/b/cpuset.cpu_exclusive", "1") == EACCES
    v1.write("/cpuset/a/cpuset.cpu_exclusive", "1")
    v1.write("/cpuset/a/b/cpuset.cpu_exclusive", "1")
    assert refusal(v1, "/cpuset/a/cpuset.cpu_exclusive", "0") == EBUSY


@pytest.mark.parametrize(("cpus", "nodes", "levels"), [(1, 1, 1), (8, 1, 3), (4, 2, 5)])
def test_relax_domain_level_ends_with_the_levels_of_the_machine(cpus: int, nodes: int, levels: int) -> None:
    kernel = Kernel("v1", "6.1", cpus=cpus, numa_nodes=nodes)
    kernel.write("/cpuset/cpuset.sched_relax_domain_level", str(levels))
    assert refusal(kernel, "/cpuset/cpuset.sched_relax_domain_level", str(levels + 1)) == EINVAL


def test_a_list_may_be_longer_than_a_page() -> None:
    kernel = unified("6.12")
    kernel.write("/a/cpuset.cpus", "1," * 24626)
    assert kernel.read("/a/cpuset.cpus") == "1\n"
    assert refusal(kernel, "/a/cpuset.cpus", "1," * 24627) == E2BIG


def test_a_cpu_that_is_not_there_is_out_of_range_and_such_a_node_is_invalid() -> None:
    kernel = unified("6.12")
    assert refusal(kernel, "/a/cpuset.cpus", "4") == ERANGE
    assert refusal(kernel, "/a/cpuset.mems", "2") == EINVAL


def test_a_v2_child_without_any_of_its_cpus_has_those_of_its_parent() -> None:
    kernel = unified("6.12")
    kernel.write("/a/cpuset.cpus", "0-1")
    kernel.write("/a/c/cpuset.cpus", "2-3")
    assert kernel.read("/a/c/cpuset.cpus") == "2-3\n"
    assert kernel.read("/a/c/cpuset.cpus.effective") == "0-1\n"


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12", "7.2"])
def test_a_partition_takes_its_cpus_from_everyone_else(version: str) -> None:
    kernel = unified(version)
    kernel.write("/a/cpuset.cpus", "0-1")
    if version == "5.10":
        assert refusal(kernel, "/a/cpuset.cpus.partition", "root") == EBUSY  # it has a child
        kernel.rmdir("/a/c")
    kernel.write("/a/cpuset.cpus.partition", "root")
    assert kernel.read("/cpuset.cpus.effective") == kernel.read("/b/cpuset.cpus.effective") == "2-3\n"
    kernel.write("/a/cpuset.cpus.partition", "member")
    assert kernel.read("/b/cpuset.cpus.effective") == "0-3\n"


def test_an_impossible_partition_is_refused_on_5_10_and_invalid_later() -> None:
    assert refusal(unified("5.10"), "/b/cpuset.cpus.partition", "root") == EINVAL
    for version, reason in (
        ("6.1", "cpuset.cpus is empty"),
        ("6.12", "cpuset.cpus and cpuset.cpus.exclusive are empty"),
    ):
        kernel = unified(version)
        kernel.write("/b/cpuset.cpus.partition", "root")
        assert kernel.read("/b/cpuset.cpus.partition") == f"root invalid ({reason})\n"


def test_overlapping_siblings_make_a_partition_invalid_before_7_2() -> None:
    states = {}
    for version in ("6.1", "6.12", "7.2"):
        kernel = unified(version)
        kernel.write("/a/cpuset.cpus", "0-1")
        kernel.write("/b/cpuset.cpus", "1-2")
        kernel.write("/a/cpuset.cpus.partition", "root")
        states[version] = kernel.read("/a/cpuset.cpus.partition").split()[:2]
    assert states == {"6.1": ["root", "invalid"], "6.12": ["root", "invalid"], "7.2": ["root"]}


def test_a_remote_partition_wants_exclusive_cpus_all_the_way_and_privilege() -> None:
    kernel = unified("6.12")
    kernel.write("/a/cpuset.cpus.exclusive", "0-1")
    kernel.write("/a/c/cpuset.cpus.exclusive", "0")
    kernel.chown("/a/c/cpuset.cpus.partition", 1000, 1000)
    kernel.write("/a/c/cpuset.cpus.partition", "isolated", Caller(1000, 1000))
    assert kernel.read("/a/c/cpuset.cpus.partition") == "isolated invalid (Enable partition not permitted)\n"
    kernel.write("/a/c/cpuset.cpus.partition", "root")
    kernel.write("/a/c/cpuset.cpus.partition", "isolated")
    assert kernel.read("/a/c/cpuset.cpus.partition") == "isolated\n"
    assert kernel.read("/cpuset.cpus.isolated") == "0\n"


def test_a_removed_partition_gives_its_cpus_back() -> None:
    for version in ("5.10", "6.1", "6.12", "7.2"):
        kernel = unified(version)
        kernel.write("/b/cpuset.cpus", "0-1")
        kernel.write("/b/cpuset.cpus.partition", "root")
        kernel.rmdir("/b")
        assert kernel.read("/cpuset.cpus.effective") == "0-3\n"


def test_no_task_enters_a_partition_that_gave_all_its_cpus_away() -> None:
    kernel = unified("6.12")
    for path in ("/a", "/a/c"):
        kernel.write(f"{path}/cpuset.cpus", "0-1")
        kernel.write(f"{path}/cpuset.cpus.partition", "root")
    assert kernel.read("/a/cpuset.cpus.effective") == "\n"
    assert refusal(kernel, "/a/cgroup.procs", "1") == ENOSPC
    kernel.write("/a/c/cgroup.procs", "1")
