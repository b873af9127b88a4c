"""Containers with CPUs of their own have no quota; whose these are is held against the kubelet's own managers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.manager_state import read_cpu_manager_state, read_memory_manager_state
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.assigned_cpus import assigned_cpus, assigned_nodes, unassigned_note
from cgroup_engine.kubelet.exclusive_cpus import has_exclusive_cpus, pod_has_exclusive_cpus
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import qos_class
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
    make_node: Callable[..., NodeConfig],
    resources: dict[str, dict[str, str]],
    qos: QosClass,
    expected: bool,
) -> None:
    pod = make_pod(make_container(**resources))
    assert has_exclusive_cpus(pod.containers[0], pod, qos, make_node()) is expected


def test_pod_level_resources_have_none(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]], make_node: Callable[..., NodeConfig]
) -> None:
    pod = make_pod(make_container(**WHOLE), resources={"limits": {"cpu": "4", "memory": "1Gi"}})
    assert not has_exclusive_cpus(pod.containers[0], pod, "Guaranteed", make_node())


def _quotas(node: NodeConfig, pod: Pod) -> list[int | None]:
    return [cgroup.limits.quota_us for cgroup in wanted_tree(node, [pod]) if cgroup.level in ("pod", "container")]


def test_under_the_static_policy_the_pod_and_such_containers_have_no_quota(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container("whole", **WHOLE), make_container("part", **PART))
    assert _quotas(make_node(cpuManagerPolicy="static", reservedSystemCPUs="0"), pod) == [-1, -1, 150_000]
    assert _quotas(make_node(), pod) == [350_000, 200_000, 150_000]


def test_before_1_33_they_have(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(**WHOLE), minor=32)
    assert _quotas(make_node(minor=32, cpuManagerPolicy="static", reservedSystemCPUs="0"), pod) == [200_000, 200_000]


ON = {"PodLevelResourceManagers": True}
STATIC = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "memoryManagerPolicy": "Static",
    "systemReserved": {"memory": "1Gi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}


def test_who_has_cpus_of_its_own_is_as_the_managers_of_a_kubelet_say(
    recorded: Callable[[str], list[dict[str, Any]]], make_node: Callable[..., NodeConfig], tmp_path: Path
) -> None:
    """Compiled 1.36.2: Admit of the topology manager with the static CPU and memory managers on 16 CPUs, 2 NUMA nodes.

    Then ContainerHasExclusiveCPUs and PodHasExclusiveCPUs, and the cpuset of PreCreateContainer.
    """
    admitted = 0
    for row in recorded("exclusive_cpus"):
        scope = {"topologyManagerPolicy": row["policy"], "topologyManagerScope": row["scope"]}
        node = make_node(featureGates=row["gates"], **STATIC, **scope)
        (tmp_path / "cpu").write_text(row["answer"]["cpu_manager_state"])
        (tmp_path / "memory").write_text(row["answer"]["memory_manager_state"])
        node = replace(
            node,
            cpu_manager_state=read_cpu_manager_state(tmp_path / "cpu", node.version),
            memory_manager_state=read_memory_manager_state(tmp_path / "memory", node.version),
        )
        for item, answer in zip(row["pods"], row["answer"]["pods"], strict=True):
            pod = pod_from_object(item, "test", node.version)
            qos = qos_class(pod, node.version)
            assert qos == answer["qos"]
            if not answer["admitted"]:
                continue
            admitted += 1
            found = {
                container.name: [
                    "exclusive" if has_exclusive_cpus(container, pod, qos, node) else "shared",
                    assigned_cpus(node, pod, container, qos).value or "",
                    assigned_nodes(node, pod, container).value or "",
                ]
                for container in pod.all_containers
            }
            assert found == answer["containers"], (row["policy"], row["scope"], row["gates"], item)
            assert pod_has_exclusive_cpus(pod, qos, node) == answer["exclusive"], (scope, row["gates"], item)
            assert unassigned_note(node, pod) == ""
    assert admitted > 100


def test_with_the_gate_the_pod_keeps_its_quota_unless_every_container_has_cpus_of_its_own(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(cpuManagerPolicy="static", reservedSystemCPUs="0", featureGates=ON)
    whole, part = make_container("whole", **WHOLE), make_container("part", **PART)
    four = {"cpu": "4", "memory": "4Gi"}
    mixed = make_pod(whole, part, resources={"requests": four, "limits": four})
    assert _quotas(node, mixed) == [400_000, -1, 150_000]
    alone = make_pod(whole, resources={"requests": four, "limits": four})
    assert _quotas(node, alone) == [-1, -1]
    assert _quotas(make_node(cpuManagerPolicy="static", reservedSystemCPUs="0"), alone) == [400_000, 200_000]


@pytest.mark.parametrize(
    ("fields", "scope"),
    [
        ({"topologyManagerScope": "pod"}, "container"),
        ({"topologyManagerScope": "pod", "topologyManagerPolicy": "restricted"}, "pod"),
        ({"topologyManagerPolicy": "restricted"}, "container"),
    ],
)
def test_a_scope_counts_under_a_topology_policy_alone(
    make_node: Callable[..., NodeConfig], fields: dict[str, str], scope: str
) -> None:
    assert make_node(**fields).topology_manager_scope == scope


@pytest.mark.parametrize("fields", [{"topologyManagerScope": "numa"}, {"topologyManagerPolicy": "best"}])
def test_an_unknown_scope_or_topology_policy_is_refused(
    make_node: Callable[..., NodeConfig], fields: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="is not known"):
        make_node(**fields)
