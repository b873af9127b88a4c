"""Enforced reserved cgroups must exist as a kubelet demands it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cgroup_engine.errors import ReservedCgroupMissingError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect

from ..conftest import StubKernel


@pytest.fixture
def plan(make_node: Callable[..., NodeConfig]) -> Callable[..., Plan]:
    """The plan for a node that enforces kube-reserved in a cgroup, on a kernel."""

    def plan(kernel: StubKernel, path: str, **fields: str) -> Plan:
        node = make_node(
            enforceNodeAllocatable=["pods", "kube-reserved"],
            kubeReserved={"cpu": "1"},
            kubeReservedCgroup=path,
            **fields,
        )
        return make_plan(wanted_tree(node, []), FoundTree(kernel, detect(kernel, "root")), node.driver)

    return plan


def _v1(stub: type[StubKernel], *others: str) -> StubKernel:
    kernel = stub(1)
    for tree in ("cpu", "memory", "pids"):
        kernel.mkdir(f"{tree}/kube")
    for tree in others:
        kernel.dirs.add(tree)
        kernel.files[f"{tree}/cgroup.procs"] = ""
    return kernel


def test_on_v1_it_is_wanted_in_every_hierarchy_of_the_kubelets_list(
    stub: type[StubKernel], plan: Callable[..., Plan]
) -> None:
    assert plan(_v1(stub, "blkio"), "/kube").steps
    for tree in ("cpuset", "systemd"):
        with pytest.raises(ReservedCgroupMissingError, match=f"/kube: does not exist in {tree} and"):
            plan(_v1(stub, tree), "/kube")


def test_on_v2_one_below_the_root_is_enough(stub: type[StubKernel], plan: Callable[..., Plan]) -> None:
    kernel = stub(2)
    kernel.mkdir("kube")
    assert plan(kernel, "/kube").steps


def test_on_v2_one_beside_kubepods_is_enough(stub: type[StubKernel], plan: Callable[..., Plan]) -> None:
    kernel = stub(2)
    kernel.mkdir("a")
    kernel.mkdir("a/kube")
    assert plan(kernel, "/a/kube", cgroupRoot="/a").steps


def test_on_v2_a_deeper_one_needs_the_controllers(stub: type[StubKernel], plan: Callable[..., Plan]) -> None:
    kernel = stub(2)
    kernel.write("cgroup.subtree_control", "+cpu +memory +pids")
    kernel.mkdir("system")
    kernel.mkdir("system/kube")
    kernel.write("system/cgroup.subtree_control", "+cpu")
    with pytest.raises(ReservedCgroupMissingError, match=r"lacks memory pids.*/system/cgroup.subtree_control"):
        plan(kernel, "/system/kube")
    kernel.write("system/cgroup.subtree_control", "+memory +pids")
    assert plan(kernel, "/system/kube").steps
