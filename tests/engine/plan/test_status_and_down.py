"""Status, and taking the hierarchy away again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from errno import EBUSY
from typing import Any, Literal

import pytest

from cgroup_engine.change.apply import Outcome, execute
from cgroup_engine.errors import BusyCgroupError
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect

from ..conftest import StubKernel

POD = "kubepods/besteffort/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"


def _found(kernel: StubKernel) -> FoundTree:
    return FoundTree(kernel, detect(kernel, "stub"))


def _apply(kernel: StubKernel, node: NodeConfig, pods: list[Pod]) -> None:
    outcome = execute(make_plan(wanted_tree(node, pods), _found(kernel), node.driver), kernel)
    assert outcome.failed == []


def _down(kernel: StubKernel, node: NodeConfig) -> Outcome:
    return execute(down_plan(wanted_tree(node, []), _found(kernel), node.driver), kernel)


def _everything(kernel: StubKernel) -> tuple[set[str], dict[str, str]]:
    return kernel.dirs.copy(), kernel.files.copy()


@pytest.mark.parametrize("version", [1, 2])
def test_status_is_all_ok_after_apply(
    stub: type[StubKernel], version: int, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel, node = stub(version), make_node()
    _apply(kernel, node, [make_pod()])
    rows = compare(wanted_tree(node, [make_pod()]), _found(kernel), node.driver)
    assert rows
    assert {row.state for row in rows} == {"ok"}


def test_status_marks_drift_what_is_missing_and_what_is_not_wanted(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel, node = stub(2), make_node()
    _apply(kernel, node, [make_pod()])
    kernel.files["kubepods/memory.max"] = "4096"
    rows = compare(wanted_tree(node, [make_pod(n=2)]), _found(kernel), node.driver)
    states = {row.path: row.state for row in rows}
    assert states["kubepods/memory.max"] == "drift"
    assert states[POD] == "unwanted"
    assert states[POD.replace("01", "02")] == "missing"


def test_status_shows_a_reserved_cgroup_that_is_missing(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    node = make_node(enforceNodeAllocatable=["kube-reserved"], kubeReserved={"cpu": "1"}, kubeReservedCgroup="/kube")
    rows = compare(wanted_tree(node, []), _found(stub(1)), node.driver)
    assert ("cpu/kube/cpu.shares", "missing") in [(row.path, row.state) for row in rows]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("root", ["", "/fcg-x", "/fcg-x/y"])
def test_down_leaves_the_tree_as_before(
    stub: type[StubKernel], version: int, root: str, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel, node = stub(version), make_node(cgroupRoot=root)
    before = _everything(kernel)
    _apply(kernel, node, [make_pod(), make_pod(n=2)])
    assert _down(kernel, node).failed == []
    assert _everything(kernel) == before


def test_a_cgroup_root_with_something_else_in_it_stays(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel, node = stub(2), make_node(cgroupRoot="/fcg-x")
    kernel.mkdir("fcg-x")
    kernel.mkdir("fcg-x/other")
    _apply(kernel, node, [])
    assert _down(kernel, node).failed == []
    assert "fcg-x/other" in kernel.dirs
    assert "fcg-x/kubepods" not in kernel.dirs


def test_controllers_stay_enabled_for_other_children(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel, node = stub(2), make_node()
    kernel.mkdir("system.slice")
    _apply(kernel, node, [])
    plan = down_plan(wanted_tree(node, []), _found(kernel), node.driver)
    execute(plan, kernel)
    assert kernel.files["cgroup.subtree_control"] == "cpu memory pids"
    assert plan.kept == ("/: cpu memory pids stay enabled for its other children",)


def test_down_refuses_while_a_process_lives_there_and_says_which(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel, node = stub(2), make_node()
    _apply(kernel, node, [make_pod()])
    kernel.files[f"{POD}/cgroup.procs"] = "4711"
    before = _everything(kernel)
    with pytest.raises(BusyCgroupError, match=f"/{POD}: process 4711 lives in it"):
        _down(kernel, node)
    assert _everything(kernel) == before


def test_down_refuses_a_tree_that_holds_someone_elses_cgroup(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel, node = stub(2), make_node()
    _apply(kernel, node, [])
    kernel.mkdir("kubepods/mine")
    with pytest.raises(BusyCgroupError, match="/kubepods/mine: is no QoS class"):
        _down(kernel, node)


def test_values_of_reserved_cgroups_go_back_to_the_kernels_defaults(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel = stub(1)
    for tree in ("cpu", "memory", "pids"):
        kernel.mkdir(f"{tree}/kube")
    before = _everything(kernel)
    node = make_node(
        enforceNodeAllocatable=["pods", "kube-reserved"],
        kubeReserved={"cpu": "1", "memory": "1Gi", "pid": "50"},
        kubeReservedCgroup="/kube",
    )
    _apply(kernel, node, [])
    assert kernel.files["pids/kube/pids.max"] == "50"
    assert _down(kernel, node).failed == []
    assert _everything(kernel) == before


def test_without_kubepods_there_is_nothing_to_do(stub: type[StubKernel], make_node: Callable[..., NodeConfig]) -> None:
    kernel = stub(2)
    kernel.files["cgroup.subtree_control"] = "cpu"
    assert _down(kernel, make_node()).done == []


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_down_that_was_cut_short_has_left_is_put_back(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], version: int
) -> None:
    kernel, node = stub(version), make_node(cgroupRoot="/fcg-x")
    before = _everything(kernel)
    _apply(kernel, node, [])
    plan = down_plan(wanted_tree(node, []), _found(kernel), node.driver)
    cut = next(n for n, step in enumerate(plan.steps) if step.path.endswith("fcg-x"))
    execute(Plan(plan.layout, plan.steps[:cut]), kernel)
    assert down_plan(wanted_tree(node, []), _found(kernel), node.driver).steps == ()
    plan = down_plan(wanted_tree(node, []), _found(kernel), node.driver, recorded=True)
    assert execute(plan, kernel).failed == []
    assert _everything(kernel) == before


def test_a_container_with_a_short_id_is_removed_too(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_object: Callable[..., dict[str, Any]]
) -> None:
    kernel, node = stub(2), make_node()
    item = make_object()
    item["status"] = {"containerStatuses": [{"name": "c", "containerID": "containerd://cafe01"}]}
    before = _everything(kernel)
    _apply(kernel, node, [pod_from_object(item, "test", KubeletVersion())])
    assert f"{POD}/cafe01" in kernel.dirs
    assert _down(kernel, node).failed == []
    assert _everything(kernel) == before


def test_controllers_stay_enabled_if_a_directory_could_not_be_removed(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel, node = stub(2), make_node()
    _apply(kernel, node, [])
    kernel.refuse["kubepods/burstable"] = EBUSY
    outcome = _down(kernel, node)
    assert [failure.path for failure in outcome.failed] == ["kubepods/burstable"]
    assert [step.path for step in outcome.skipped] == ["kubepods", "cgroup.subtree_control"]


@pytest.mark.parametrize("version", [1, 2])
def test_containers_beside_containerd_are_made_and_removed_like_the_others(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], version: Literal[1, 2]
) -> None:
    kernel = stub(version)
    node = replace(make_node(driver="systemd", runtime_driver="cgroupfs"), cgroup_version=version)

    _apply(kernel, node, [make_pod(), make_pod(n=2)])
    assert sum(":cri-containerd:" in path for path in kernel.dirs) == 2 * (3 if version == 1 else 1)
    _apply(kernel, node, [make_pod()])
    assert sum(":cri-containerd:" in path for path in kernel.dirs) == 1 * (3 if version == 1 else 1)
    execute(down_plan(wanted_tree(node, []), _found(kernel), node.driver), kernel)
    assert not any(":cri-containerd:" in path or "kubepods" in path for path in kernel.dirs)
    assert any(path.endswith("system.slice") for path in kernel.dirs)
