"""cpuset: all CPUs at node level, on v1 the lists without which no task enters, and what the static policies gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.kubelet.assigned_cpus import unassigned_note
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.manager_state import CpuManagerState, MemoryManagerState
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.step import Step
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs

RESERVED = {  # what a kubelet needs to start with the static policies
    "reservedSystemCPUs": "0",
    "systemReserved": {"memory": "1Gi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}


@pytest.fixture
def machine() -> Callable[..., tuple[KernelFs, Callable[..., Any]]]:
    """A kernel with 4 CPUs and 2 NUMA nodes, and the engine's found tree there."""

    def machine(layout: str, version: str) -> tuple[KernelFs, Callable[..., Any]]:
        fs = KernelFs(Kernel(layout=layout, kernel=version, cpus=4, numa_nodes=2))
        return fs, lambda: FoundTree(fs, detect(fs, "model"))

    return machine


def _on(node: NodeConfig, found: Callable[..., Any]) -> NodeConfig:
    layout = found().layout
    return replace(node, cgroup_version=layout.version, cpu_list=layout.cpus)


def _apply(node: NodeConfig, pods: list[Pod], found: Callable[..., Any]) -> list[Step]:
    outcome = execute(make_plan(wanted_tree(node, pods), found(), node.driver), found().fs)
    assert outcome.failed == []
    return outcome.done


@pytest.mark.parametrize("minor", [31, 32, 36])
def test_kubepods_has_all_cpus_on_v2_since_1_32(
    machine: Callable[..., tuple[KernelFs, Callable[..., Any]]],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    minor: int,
) -> None:
    fs, found = machine("v2", "6.12")
    node = _on(make_node(minor=minor), found)
    _apply(node, [make_pod(minor=minor)], found)
    assert fs.read("kubepods/cpuset.cpus") == ("0-3\n" if minor >= 32 else "\n")
    assert fs.read("kubepods/besteffort/cpuset.cpus") == "\n"
    assert "cpuset" in fs.read("kubepods/besteffort/cgroup.controllers")


def test_with_a_cpu_manager_the_list_is_not_the_node_levels(
    machine: Callable[..., tuple[KernelFs, Callable[..., Any]]], make_node: Callable[..., NodeConfig]
) -> None:
    fs, found = machine("v2", "6.12")
    _apply(_on(make_node(cpuManagerPolicy="static", reservedSystemCPUs="0"), found), [], found)
    assert fs.read("kubepods/cpuset.cpus") == "\n"


def test_every_cgroup_is_filled_on_v1_so_that_tasks_get_in(
    machine: Callable[..., tuple[KernelFs, Callable[..., Any]]],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
) -> None:
    fs, found = machine("v1", "6.1")
    node = _on(make_node(minor=30, cgroupRoot="/a"), found)
    fs.mkdir("cpuset/a")
    fs.write("cpuset/a/cpuset.cpus", "1-2")
    fs.write("cpuset/a/cpuset.mems", "1")
    pods = [make_pod(minor=30)]
    _apply(node, pods, found)
    [container] = [cgroup.path for cgroup in wanted_tree(node, pods) if cgroup.level == "container"]
    for path in ("a/kubepods", "a/kubepods/burstable", container):
        assert (fs.read(f"cpuset/{path}/cpuset.cpus"), fs.read(f"cpuset/{path}/cpuset.mems")) == ("1-2\n", "1\n")
    assert _apply(node, pods, found) == []


def test_kubepods_has_all_cpus_on_v1_too(
    machine: Callable[..., tuple[KernelFs, Callable[..., Any]]], make_node: Callable[..., NodeConfig]
) -> None:
    fs, found = machine("v1", "6.1")
    node = _on(make_node(), found)
    _apply(node, [], found)
    assert (fs.read("cpuset/kubepods/cpuset.cpus"), fs.read("cpuset/kubepods/cpuset.mems")) == ("0-3\n", "0-1\n")
    assert {row.state for row in compare(wanted_tree(node, []), found(), node.driver)} == {"ok"}


def test_a_reserved_cgroup_gets_its_default_back_on_v2(
    machine: Callable[..., tuple[KernelFs, Callable[..., Any]]], make_node: Callable[..., NodeConfig]
) -> None:
    fs, found = machine("v2", "6.12")
    fs.write("cgroup.subtree_control", "+cpuset +cpu +memory +pids +hugetlb")
    fs.mkdir("kube")
    fields = {"enforceNodeAllocatable": ["kube-reserved"], "kubeReserved": {"cpu": "1"}, "kubeReservedCgroup": "/kube"}
    node = _on(make_node(**fields), found)
    _apply(node, [], found)
    assert fs.read("kube/cpuset.cpus") == "0-3\n"
    assert execute(down_plan(wanted_tree(node, []), found(), node.driver), fs).failed == []
    assert fs.read("kube/cpuset.cpus") == "\n"


WHOLE = {"limits": {"cpu": "1", "memory": "1Gi"}}


def _pinned(node: NodeConfig, pod: Pod, shared: str, own: str) -> NodeConfig:
    """A node whose static policies gave CPUs and NUMA node 1 to the container "own" of a pod."""
    return replace(
        node,
        cpu_manager_state=CpuManagerState("static", shared, {pod.uid: {"own": own}}),
        memory_manager_state=MemoryManagerState("Static", {pod.uid: {"own": (1,)}}),
    )


@pytest.mark.parametrize(("layout", "kernel"), [("v1", "6.1"), ("v2", "6.1"), ("v2", "6.12"), ("v2", "7.2")])
def test_a_container_gets_the_cpus_and_nodes_of_the_static_policies(
    machine: Callable[..., tuple[KernelFs, Callable[..., Any]]],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    layout: str,
    kernel: str,
) -> None:
    """PreCreateContainer of 1.36.2: CpusetCpus is the assignment or defaultCpuSet, CpusetMems the blocks' nodes."""
    fs, found = machine(layout, kernel)
    pod = make_pod(make_container("own", **WHOLE), make_container("other", limits={"cpu": "500m", "memory": "1Gi"}))
    node = _on(make_node(cpuManagerPolicy="static", memoryManagerPolicy="Static", **RESERVED), found)

    def lists() -> dict[str, tuple[str, str]]:
        top = "cpuset/" if layout == "v1" else ""
        paths = {each.owner: f"{top}{each.path}" for each in wanted_tree(node, [pod]) if each.pod is not None}
        return {
            owner: (fs.read(f"{path}/cpuset.cpus").strip(), fs.read(f"{path}/cpuset.mems").strip())
            for owner, path in paths.items()
        }

    for shared, own in (("0,2-3", "1"), ("0-1", "2-3"), ("1-3", "0")):
        now = _pinned(node, pod, shared, own)
        _apply(now, [pod], found)
        everything = ("0-3", "0-1") if layout == "v1" else ("", "")
        assert lists() == {
            "default/p1": everything,
            "default/p1/own": (own, "1"),
            "default/p1/other": (shared, everything[1]),
        }
        assert _apply(now, [pod], found) == []
        assert {row.state for row in compare(wanted_tree(now, [pod]), found(), node.driver)} == {"ok"}


def test_a_container_that_is_not_in_the_state_yet_gets_no_list(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    pod = make_pod(make_container("new", **WHOLE))
    node = replace(
        make_node(cpuManagerPolicy="static", reservedSystemCPUs="0"), cpu_manager_state=CpuManagerState("static", "0-3")
    )
    [container] = [cgroup for cgroup in wanted_tree(node, [pod]) if cgroup.level == "container"]
    assert container.limits.cpus is None
    assert unassigned_note(node, pod).startswith("new: not in the CPU manager's state")
    assert unassigned_note(_pinned(node, pod, "0-2", "3"), make_pod(make_container("own", **WHOLE))) == ""


def test_the_state_of_the_oldest_kubelets_is_by_container_id(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container("own", **WHOLE))
    pod = replace(pod, containers=(replace(pod.containers[0], id="f" * 64),))
    state = CpuManagerState("static", "0-2", by_id={"f" * 64: "3"})
    node = replace(make_node(cpuManagerPolicy="static", reservedSystemCPUs="0"), cpu_manager_state=state)
    [container] = [cgroup for cgroup in wanted_tree(node, [pod]) if cgroup.level == "container"]
    assert container.limits.cpus == "3"
    assert container.why("cpus") == "GetCPUAffinity: CPUs 3, its own"
