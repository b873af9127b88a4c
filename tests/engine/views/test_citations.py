"""Each value of each cgroup has a function of the kubelet, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.reason import THE_RUNTIME
from cgroup_engine.views.explain import explanation, values_of

ALL = {
    "limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
    "requests": {"cpu": "500m", "memory": "512Mi"},
}


def _value(entry: dict[str, Any], what: str) -> dict[str, Any]:
    return next(value for value in entry["values"] if value["what"] == what)


@pytest.fixture
def explained(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    def explain(
        *containers: dict[str, Any],
        pod: dict[str, dict[str, dict[str, str]]] | None = None,
        **fields: int | dict[str, str],
    ) -> dict[str, Any]:
        node = make_node(**fields)
        pods = [make_pod(*(containers or [make_container(**ALL)]), **(pod or {}))]
        return explanation(node, wanted_tree(node, pods))

    return explain


@pytest.mark.parametrize("minor", [24, 28, 32, 36, 37])
@pytest.mark.parametrize("gates", [{}, {"MemoryQoS": True}])
def test_every_value_is_cited(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    minor: int,
    gates: dict[str, bool],
) -> None:
    enforced = {
        "enforceNodeAllocatable": ["pods", "kube-reserved"],
        "kubeReserved": {"cpu": "1", "memory": "1Gi", "pid": "100"},
        "kubeReservedCgroup": "/kube",
    }
    node = make_node(minor, featureGates={**gates, "QOSReserved": True}, qosReserved={"memory": "50%"}, **enforced)
    node = replace(node, cpu_list="0-3")
    pods = [
        make_pod(make_container(**ALL), n=1, minor=minor),
        make_pod(make_container(limits=ALL["limits"]), n=2, minor=minor),
        make_pod(make_container(), n=3, minor=minor),
    ]
    wanted = wanted_tree(node, pods)
    for cgroup in wanted:
        for value in values_of(cgroup):
            assert all(value.inputs.values())
            assert value.source == THE_RUNTIME or value.source.file.startswith("pkg/kubelet/")


def test_a_pods_values_come_from_its_containers(
    explained: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    [pod] = explained(make_container("a", **ALL), make_container("b", **ALL), podPidsLimit=100)["pods"]
    shares = _value(pod, "shares")
    assert shares["inputs"] == {"a requests.cpu": "500m", "b requests.cpu": "500m"}
    assert shares["source"] == {
        "function": "ResourceConfigForPod",
        "file": "pkg/kubelet/cm/helpers_linux.go",
        "kubelet": "1.36",
    }
    assert _value(pod, "memory")["inputs"] == {"a limits.memory": "1Gi", "b limits.memory": "1Gi"}
    assert _value(pod, "pids")["inputs"] == {"podPidsLimit": "100"}


def test_a_containers_quota_comes_from_its_limit_or_the_pods(
    explained: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    [pod] = explained(make_container("a"), pod={"resources": {"limits": {"cpu": "3"}}})["pods"]
    assert _value(pod["containers"][0], "quota")["inputs"] == {
        "spec.resources.limits.cpu": "3",
        "cpuCFSQuota": "true",
        "cpuCFSQuotaPeriod": "100000us",
    }


def test_kubepods_comes_from_capacity_and_reservations(explained: Callable[..., dict[str, Any]]) -> None:
    data = explained(kubeReserved={"cpu": "1"}, systemReserved={"memory": "1Gi"})
    kubepods = next(entry for entry in data["cgroups"] if entry["owner"] == "node")
    assert _value(kubepods, "shares")["inputs"] == {"capacity.cpu": "4", "kubeReserved.cpu": "1"}
    assert _value(kubepods, "memory")["inputs"] == {"capacity.memory": "8Gi", "systemReserved.memory": "1Gi"}


def test_a_class_comes_from_the_requests_of_its_pods(explained: Callable[..., dict[str, Any]]) -> None:
    data = explained()
    burstable = next(entry for entry in data["cgroups"] if entry["owner"] == "Burstable")
    assert _value(burstable, "shares")["inputs"] == {"default/p1 requests.cpu": "500m"}


def test_an_oom_score_comes_from_request_and_node(explained: Callable[..., dict[str, Any]]) -> None:
    [pod] = explained()["pods"]
    container = pod["containers"][0]
    assert container["oom_inputs"] == {"requests.memory": "512Mi", "node's memory": "8Gi"}
    assert container["oom_source"]["function"] == "GetContainerOOMScoreAdjust"
