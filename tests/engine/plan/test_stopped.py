"""Containers that do not run and pods that leave: a cgroup that is gone is no drift, and no plan makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.status import compare, differs
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs

WAITS = {"waiting": {"reason": "CrashLoopBackOff"}}
ENDED = {"terminated": {"exitCode": 1}}
RUNS = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


@pytest.fixture
def tree_of(
    make_object: Callable[..., dict[str, Any]], make_node: Callable[..., NodeConfig]
) -> Callable[[dict[str, Any]], tuple[WantedCgroup, ...]]:
    """The wanted tree of a pod whose only container has a state."""

    def wanted(state: dict[str, Any]) -> tuple[WantedCgroup, ...]:
        item = make_object()
        item["status"] = {"containerStatuses": [{"name": "c", "containerID": "containerd://ab12", "state": state}]}
        return wanted_tree(make_node(), [pod_from_object(item, "test", KubeletVersion())])

    return wanted


@pytest.mark.parametrize("layout", ["v1", "v2"])
@pytest.mark.parametrize("state", [WAITS, ENDED])
def test_its_cgroup_is_neither_made_nor_missing(
    tree_of: Callable[[dict[str, Any]], tuple[WantedCgroup, ...]], state: dict[str, Any], layout: str
) -> None:
    fs = KernelFs(Kernel(layout, "6.1"))
    wanted = tree_of(state)
    plan = make_plan(wanted, FoundTree(fs, detect(fs, "model")), "cgroupfs")
    assert plan.waiting == ("default/p1/c: does not run, by its status",)
    assert execute(plan, fs).failed == []
    rows = compare(wanted, FoundTree(fs, detect(fs, "model")), "cgroupfs")
    assert not any(differs(row) for row in rows)
    assert [row.owner for row in rows if row.state == "waiting"] == ["default/p1/c"]


def test_its_cgroup_gets_its_values_while_it_is_there(
    tree_of: Callable[[dict[str, Any]], tuple[WantedCgroup, ...]],
) -> None:
    fs = KernelFs(Kernel("v2", "6.1"))
    running = tree_of(RUNS)
    execute(make_plan(running, FoundTree(fs, detect(fs, "model")), "cgroupfs"), fs)
    [container] = [cgroup for cgroup in running if cgroup.level == "container"]
    fs.write(f"{container.path}/cpu.weight", "77")
    rows = compare(tree_of(WAITS), FoundTree(fs, detect(fs, "model")), "cgroupfs")
    assert [row.path for row in rows if differs(row)] == [f"{container.path}/cpu.weight"]


def test_a_running_containers_cgroup_is_missing(
    tree_of: Callable[[dict[str, Any]], tuple[WantedCgroup, ...]],
) -> None:
    fs = KernelFs(Kernel("v2", "6.1"))
    wanted = tree_of(RUNS)
    rows = compare(wanted, FoundTree(fs, detect(fs, "model")), "cgroupfs")
    assert {row.state for row in rows if row.owner == "default/p1/c"} == {"missing"}


@pytest.mark.parametrize(
    ("phase", "node", "made"), [("Pending", "node-1", False), ("Pending", "", True), ("Running", "node-1", True)]
)
def test_a_pod_that_a_scheduler_has_just_bound_leaves_its_containers_cgroups_to_the_runtime(
    make_object: Callable[..., dict[str, Any]],
    make_node: Callable[..., NodeConfig],
    phase: str,
    node: str,
    made: bool,
) -> None:
    item = make_object()
    item["spec"]["nodeName"] = node
    item["status"] = {"phase": phase}
    wanted = wanted_tree(make_node(), [pod_from_object(item, "test", KubeletVersion())])
    fs = KernelFs(Kernel("v2", "6.1"))
    execute(make_plan(wanted, FoundTree(fs, detect(fs, "model")), "cgroupfs"), fs)
    assert [fs.is_dir(cgroup.path) for cgroup in wanted if cgroup.level == "container"] == [made]
    assert all(fs.is_dir(cgroup.path) for cgroup in wanted if cgroup.level == "pod")


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_a_pod_that_is_being_deleted_keeps_its_values_and_once_gone_is_not_made_again(
    make_object: Callable[..., dict[str, Any]], make_node: Callable[..., NodeConfig], layout: str
) -> None:
    fs = KernelFs(Kernel(layout, "6.1"))

    def found() -> FoundTree:
        return FoundTree(fs, detect(fs, "model"))

    def pod_paths() -> list[str]:
        """The directories of the pod and its container, the container's first."""
        paths = [cgroup.path for cgroup in leaving if cgroup.level in ("container", "pod")]
        hierarchies = detect(fs, "model").hierarchies
        found_there = [detect(fs, "model").directory(one, path) for path in paths for one in hierarchies]
        return sorted((path for path in found_there if fs.is_dir(path)), key=len, reverse=True)

    item = make_object()
    stays = wanted_tree(make_node(), [pod_from_object(item, "test", KubeletVersion())])
    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    leaving = wanted_tree(make_node(), [pod_from_object(item, "test", KubeletVersion())])
    execute(make_plan(stays, found(), "cgroupfs"), fs)
    assert make_plan(leaving, found(), "cgroupfs").steps == ()

    there = pod_paths()
    assert there
    for path in there:
        fs.rmdir(path)
    plan = make_plan(leaving, found(), "cgroupfs")
    assert (plan.steps, plan.waiting) == ((), ())
    assert not any(differs(row) for row in compare(leaving, found(), "cgroupfs"))
    assert make_plan(stays, found(), "cgroupfs").steps
