"""Containers with CPUs of their own have no quota."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.kubelet.exclusive_cpus import has_exclusive_cpus
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Pod

WHOLE = {"limits": {"cpu": "2", "memory": "1Gi"}}
PART = {"limits": {"cpu": "1500m", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("resources", "qos", "expected"),
    [
        (WHOLE, "Guaranteed", True),
        (PART, "Guaranteed", False),
        (WHOLE, "Burstable", False),
        ({}, "Guaranteed", False),
    ],
)
def test_whole_cpus_of_a_guaranteed_pod_are_its_own(
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    resources: dict[str, dict[str, str]],
    qos: QosClass,
    expected: bool,
) -> None:
    pod = make_pod(make_container(**resources))
    assert has_exclusive_cpus(pod.containers[0], pod, qos) is expected


def test_pod_level_resources_have_none(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(**WHOLE), resources={"limits": {"cpu": "4", "memory": "1Gi"}})
    assert not has_exclusive_cpus(pod.containers[0], pod, "Guaranteed")


def _quotas(node: NodeConfig, pod: Pod) -> list[int | None]:
    return [cgroup.limits.quota_us for cgroup in wanted_tree(node, [pod]) if cgroup.level in ("pod", "container")]


def test_under_the_static_policy_the_pod_and_such_containers_have_no_quota(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container("whole", **WHOLE), make_container("part", **PART))
    assert _quotas(make_node(cpuManagerPolicy="static"), pod) == [-1, -1, 150_000]
    assert _quotas(make_node(), pod) == [350_000, 200_000, 150_000]


def test_before_1_33_they_have(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(**WHOLE), minor=32)
    assert _quotas(make_node(minor=32, cpuManagerPolicy="static"), pod) == [200_000, 200_000]
