"""Pods whose kubelet has allocated other resources than their spec asks for (updatePodFromAllocation)."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.allocation import allocation_note, other_resources
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resources import pod_limits, pod_requests
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod, Resources
from cgroup_engine.model.quantity import parse
from cgroup_engine.sources.files import pod_source
from fakecgroup import Kernel, KernelFs

from ..resizes import recorded

NEW = KubeletVersion()
SMALL = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
LARGE = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
WAITS = [{"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room"}]
IN_PROGRESS = [{"type": "PodResizeInProgress", "status": "True"}]


def _texts(amounts: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _status(resources: dict[str, Any]) -> dict[str, Any]:
    """A container's resources in the status, where empty ones are left out (convertToAPIContainerStatuses)."""
    allocated = {"allocatedResources": resources["requests"]} if resources.get("requests") else {}
    return {**allocated, "resources": resources}


def _as_listed(row: dict[str, Any], version: KubeletVersion) -> dict[str, Any]:
    """The pod of a row as ``kubectl get -o json`` shows it: the spec as asked for, the status as allocated."""
    allocated, desired = row["allocated"], row["desired"]
    status: dict[str, Any] = {"qosClass": "Burstable", "conditions": WAITS} | desired["status"]
    for key, statuses in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        listed = allocated["spec"].get(key, [])
        status[statuses] = [{"name": each["name"], **_status(each["resources"])} for each in listed]
    if version.enabled("InPlacePodLevelResourcesVerticalScaling"):
        pod = pod_from_object(allocated, "test", version)
        status["allocatedResources"] = _texts(pod_requests(pod, version))
        status["resources"] = {"limits": _texts(pod_limits(pod, version))}
    return {**desired, "status": status}


@pytest.mark.parametrize("row", recorded("allocation"))
def test_the_values_are_those_of_the_kubelets_allocation(
    row: dict[str, Any], make_node: Callable[..., NodeConfig]
) -> None:
    node = make_node(featureGates=row.get("gates", {}))
    pod = pod_from_object(_as_listed(row, node.version), "test", node.version)
    answer = row["answer"]
    for container in pod.all_containers:
        for name, amounts in (("requests", container.requests), ("limits", container.limits)):
            given = answer["containers"][container.name].get(name, {})
            assert {key: amount.nano for key, amount in amounts.items()} == {
                key: parse(text).nano for key, text in given.items()
            }
    [cgroup] = [cgroup for cgroup in wanted_tree(node, [pod]) if cgroup.level == "pod"]
    limits = cgroup.limits
    assert limits.shares == answer["pod"]["shares"]
    assert limits.memory == answer["pod"]["memory"]
    assert (limits.quota_us or -1) == (answer["pod"]["quota"] or -1)


@pytest.fixture
def make_listed(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    """A pod that asks for ``spec`` and has ``allocated`` in its status."""

    def make(spec: dict[str, Any], allocated: dict[str, Any], **status: Any) -> dict[str, Any]:
        listed = [{"name": "a", **_status(allocated)}]
        status = {"qosClass": "Burstable", "containerStatuses": listed, **status}
        return {**make_object(make_container("a", **spec)), "status": status}

    return make


def _memory(pod: Pod) -> str:
    return str(pod.containers[0].limits["memory"])


def test_a_resize_that_waits_leaves_the_allocated_limits(make_listed: Callable[..., dict[str, Any]]) -> None:
    pod = pod_from_object(make_listed(LARGE, SMALL, conditions=WAITS), "test", NEW)
    assert _memory(pod) == "512Mi"
    assert allocation_note(pod) == (
        "resize Deferred, so what the kubelet has allocated counts: a: cpu request 500m instead of 1, "
        "a: memory request 256Mi instead of 512Mi, a: cpu limit 1 instead of 2, a: memory limit 512Mi instead of 1Gi"
    )


def test_a_limit_alone_that_is_infeasible_is_told_by_the_condition_only(
    make_listed: Callable[..., dict[str, Any]],
) -> None:
    more = {**SMALL, "limits": {"cpu": "1", "memory": "1Gi"}}
    infeasible = [{**WAITS[0], "reason": "Infeasible"}]
    pod = pod_from_object(make_listed(more, SMALL, conditions=infeasible), "test", NEW)
    assert allocation_note(pod).endswith("counts: a: memory limit 512Mi instead of 1Gi")


def test_a_resize_in_progress_is_allocated_whole(make_listed: Callable[..., dict[str, Any]]) -> None:
    """handlePodResourcesResize has allocated the spec; status.resources still have the old limits."""
    item = make_listed(LARGE, LARGE, conditions=IN_PROGRESS)
    item["status"]["containerStatuses"][0]["resources"] = SMALL
    pod = pod_from_object(item, "test", NEW)
    assert (_memory(pod), allocation_note(pod)) == ("1Gi", "")


def test_before_the_kubelet_has_looked_the_old_allocation_counts(make_listed: Callable[..., dict[str, Any]]) -> None:
    pod = pod_from_object(make_listed(LARGE, SMALL), "test", NEW)
    assert _memory(pod) == "512Mi"
    assert allocation_note(pod).startswith("resize not yet allocated, so")


@pytest.mark.parametrize(("state", "memory"), [("Deferred", "512Mi"), ("Infeasible", "512Mi"), ("Proposed", "512Mi")])
def test_up_to_1_32_the_state_is_a_field_of_the_status(
    make_listed: Callable[..., dict[str, Any]], state: str, memory: str
) -> None:
    version = KubeletVersion(32, {"InPlacePodVerticalScaling": True})
    pod = pod_from_object(make_listed(LARGE, SMALL, resize=state), "test", version)
    assert _memory(pod) == memory
    assert f"resize {state}" in allocation_note(pod)


def test_until_a_resize_is_allocated_the_spec_may_be_in_force_too(make_listed: Callable[..., dict[str, Any]]) -> None:
    for conditions in ([], WAITS):
        pod = pod_from_object(make_listed(LARGE, SMALL, conditions=conditions), "test", NEW)
        other = other_resources(pod, NEW)
        assert (_memory(pod), other and _memory(other)) == ("512Mi", "1Gi")


def test_while_a_resize_is_in_progress_the_resources_before_it_may_be_in_force(
    make_listed: Callable[..., dict[str, Any]],
) -> None:
    item = make_listed(LARGE, LARGE, conditions=IN_PROGRESS)
    item["status"]["containerStatuses"][0]["resources"] = SMALL
    pod = pod_from_object(item, "test", NEW)
    other = other_resources(pod, NEW)
    assert other is not None
    [container] = other.containers
    assert (_texts(container.requests), _texts(container.limits)) == (SMALL["requests"], SMALL["limits"])
    assert other_resources(pod, KubeletVersion(32)) is None


def test_a_pod_that_is_not_resized_has_no_other_resources(make_listed: Callable[..., dict[str, Any]]) -> None:
    assert other_resources(pod_from_object(make_listed(SMALL, SMALL), "test", NEW), NEW) is None


def test_without_the_gate_the_spec_counts(make_listed: Callable[..., dict[str, Any]]) -> None:
    assert _memory(pod_from_object(make_listed(LARGE, SMALL), "test", KubeletVersion(32))) == "1Gi"


def test_a_spec_that_is_allocated_has_no_note(make_listed: Callable[..., dict[str, Any]]) -> None:
    pod = pod_from_object(make_listed(SMALL, SMALL), "test", NEW)
    assert (pod.asked, allocation_note(pod)) == (None, "")


def test_the_classes_count_the_spec(
    make_listed: Callable[..., dict[str, Any]], make_node: Callable[..., NodeConfig]
) -> None:
    """The qosContainerManager gets the kubelet's GetActivePods, whose specs are not overwritten."""
    tree = wanted_tree(make_node(), [pod_from_object(make_listed(LARGE, SMALL, conditions=WAITS), "test", NEW)])
    shares = {cgroup.owner: cgroup.limits.shares for cgroup in tree}
    assert (shares["Burstable"], shares["default/p1"], shares["default/p1/a"]) == (1024, 512, 512)


def test_plan_and_explain_say_it_in_one_line(
    make_listed: Callable[..., dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pods.json").write_text(json.dumps(make_listed(LARGE, SMALL, conditions=WAITS)))
    assert main(["explain", "--cpus", "4", "--memory", "8Gi", "-o", "json", str(tmp_path / "pods.json")]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["pods"][0]["resize"].startswith("resize Deferred")
    assert [line for line in err.splitlines() if "pod default/p1: resize Deferred" in line] == err.splitlines()


def test_apply_writes_the_allocated_limit(make_listed: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(json.dumps(make_listed(LARGE, SMALL, conditions=WAITS)))
    fs = KernelFs(Kernel("v2", "6.1"))
    node = ["--cpus", "4", "--memory", "8Gi", "--max-pids", "32768", "--state-dir", str(tmp_path / "state")]
    assert main(["apply", "--root", "/fake", *node, str(tmp_path / "pods.json")], open_root=lambda path: fs) == 0
    [cgroup] = [each for each in fs.listdir("kubepods/burstable") if each.startswith("pod")]
    assert fs.read(f"kubepods/burstable/{cgroup}/memory.max").strip() == str(512 << 20)


def test_run_tells_it_once(make_listed: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(json.dumps(make_listed(LARGE, SMALL, conditions=WAITS)))
    with closing(pod_source([tmp_path], NEW)) as source:
        [line] = source.look().complaints
        assert "pod default/p1: resize Deferred" in line
        assert source.look().complaints == ()


def test_a_plan_of_the_resize_is_from_the_allocation_to_the_spec(
    make_listed: Callable[..., dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(make_listed(LARGE, SMALL, conditions=WAITS)))
    assert main(["plan", "--cpus", "4", "--memory", "8Gi", "-o", "json", "--from", str(path), str(path)]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert str(1 << 30) in [step["value"] for step in steps if step["path"].endswith("memory.max")]
