"""cpuset: all CPUs at node level, and on v1 the lists without which no task enters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.step import Step
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs


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
    _apply(_on(make_node(cpuManagerPolicy="static"), found), [], found)
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
