"""MemoryQoS by release; the values of 1.32 and 1.36 are held against the kubelet's own in test_kubelet_pods.

No kubelet 1.37 was asked: its rules come from the pull requests 138139, 138903, 140007 and 140262, the last with
TestApplyPodLevelMemoryHigh of ``pkg/kubelet/cm/helpers_linux_test.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.kubelet.memory_qos import container_protection, memory_high, pod_protection
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup

OLD, NEW, NEWEST = KubeletVersion(35), KubeletVersion(36), KubeletVersion(37)
MIB = 1 << 20
Resources = dict[str, dict[str, str]]


@pytest.fixture
def tree_of(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, WantedCgroup]]:
    """The cgroups of a 1.37 node with one pod, by owner; the resources of its containers, and spec.resources."""

    def tree(*containers: Resources, resources: Resources | None = None, **fields: Any) -> dict[str, WantedCgroup]:
        spec = {"resources": resources} if resources else {}
        made = [make_container(f"c{n}", **each) for n, each in enumerate(containers)]
        pod = make_pod(*made, minor=37, **spec, **fields.pop("spec", {}))
        return {cgroup.owner: cgroup for cgroup in wanted_tree(make_node(37, **fields), [pod])}

    return tree


@pytest.mark.parametrize("qos", ["Guaranteed", "Burstable"])
def test_before_1_36_every_request_is_memory_min(qos: QosClass) -> None:
    assert pod_protection(MIB, qos, "None", OLD) == container_protection(MIB, qos, "None", OLD) == (MIB, None)


@pytest.mark.parametrize(("qos", "expected"), [("Guaranteed", (MIB, None)), ("Burstable", (None, MIB))])
def test_tiers_protect_guaranteed_pods_harder(qos: QosClass, expected: tuple[int | None, int | None]) -> None:
    assert pod_protection(MIB, qos, "TieredReservation", NEW) == expected


def test_without_a_policy_containers_are_told_so_and_pods_are_not() -> None:
    assert pod_protection(MIB, "Guaranteed", "None", NEW) == (None, None)
    assert container_protection(MIB, "Guaranteed", "None", NEW) == (0, 0)


def test_memory_high_lies_between_request_and_limit_on_a_page() -> None:
    assert memory_high(100 * MIB, 200 * MIB, 0, 0.9, NEW) == 190 * MIB
    assert memory_high(100 * MIB + 1, 200 * MIB, 0, 0.9, NEW) == 190 * MIB


def test_before_1_27_memory_high_is_a_part_of_the_limit() -> None:
    assert memory_high(100 * MIB, 200 * MIB, 0, 0.8, KubeletVersion(26)) == 160 * MIB
    assert memory_high(180 * MIB, 200 * MIB, 0, 0.8, KubeletVersion(26)) is None


def test_without_a_limit_the_nodes_allocatable_memory_counts() -> None:
    assert memory_high(0, 0, 1000 * MIB, 0.9, NEW) is None
    assert memory_high(100 * MIB, 0, 1100 * MIB, 0.9, NEW) == 1000 * MIB
    assert memory_high(0, 0, 1000 * MIB, 0.8, KubeletVersion(26)) == 800 * MIB


def test_who_may_use_all_it_asks_for_is_not_throttled() -> None:
    assert memory_high(MIB, MIB, 0, 0.9, NEW) is None


def test_since_1_37_nothing_is_throttled_unless_a_factor_is_given(
    tree_of: Callable[..., dict[str, WantedCgroup]],
) -> None:
    burstable: Resources = {"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}}
    assert tree_of(burstable)["default/p1/c0"].limits.memory_high is None
    assert tree_of(burstable, memoryThrottlingFactor=0.9)["default/p1/c0"].limits.memory_high == 190 * MIB


def test_since_1_37_a_best_effort_container_is_throttled_at_a_part_of_the_nodes_memory() -> None:
    assert memory_high(0, 0, 1000 * MIB, 0.9, NEWEST) == 900 * MIB
    assert memory_high(MIB, MIB, 1000 * MIB, 0.9, NEWEST) is None


def test_since_1_37_a_container_without_a_limit_is_throttled_by_the_pods(
    tree_of: Callable[..., dict[str, WantedCgroup]],
) -> None:
    pod: Resources = {"limits": {"memory": "200Mi"}}
    tree = tree_of({"requests": {"memory": "100Mi"}}, resources=pod, memoryThrottlingFactor=0.9)
    assert tree["default/p1/c0"].limits.memory_high == 190 * MIB


def test_since_1_37_a_pod_with_resources_of_its_own_is_throttled_as_a_whole(
    tree_of: Callable[..., dict[str, WantedCgroup]],
) -> None:
    pod: Resources = {"requests": {"memory": "128Mi", "cpu": "1"}, "limits": {"memory": "256Mi", "cpu": "1"}}
    container: Resources = {"requests": {"cpu": "1", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}}
    tree = tree_of(container, resources=pod, memoryThrottlingFactor=0.9)
    high = int((128 + 0.9 * 128) * MIB) // 4096 * 4096
    assert tree["default/p1"].limits.memory_high == high
    assert "ApplyPodLevelMemoryHigh" in str(tree["default/p1"].reasons["memory_high"].source)
    with_overhead = tree_of(container, resources=pod, memoryThrottlingFactor=0.9, spec={"overhead": {"memory": "64Mi"}})
    assert with_overhead["default/p1"].limits.memory_high == high + 64 * MIB


@pytest.mark.parametrize(
    "containers",
    [
        [{"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m"}}],
        [
            {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "200Mi"}},
            {"requests": {"cpu": "100m", "memory": "100Mi"}},
        ],
    ],
    ids=["cpu alone", "one without"],
)
def test_a_pod_without_a_memory_limit_is_not_throttled_as_a_whole(
    tree_of: Callable[..., dict[str, WantedCgroup]], containers: list[Resources]
) -> None:
    tree = tree_of(*containers, resources={"limits": {"cpu": "2"}}, memoryThrottlingFactor=0.9)
    assert tree["default/p1"].limits.memory_high is None


def test_a_pod_without_resources_of_its_own_is_not_throttled_as_a_whole(
    tree_of: Callable[..., dict[str, WantedCgroup]],
) -> None:
    burstable: Resources = {"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}}
    assert tree_of(burstable, memoryThrottlingFactor=0.9)["default/p1"].limits.memory_high is None


def test_since_1_37_what_was_protected_is_cleared_where_the_gate_is_off(
    tree_of: Callable[..., dict[str, WantedCgroup]],
) -> None:
    tree = tree_of({}, featureGates={"MemoryQoS": False})
    assert tree["node"].limits.memory_min == tree["Burstable"].limits.memory_low == 0
    assert tree["node"].why("memory_min") == "MemoryQoS is off: a kubelet clears at its start what was protected"


def test_since_1_37_a_factor_needs_the_gate_unless_it_is_the_former_default(
    make_node: Callable[..., NodeConfig],
) -> None:
    off = {"featureGates": {"MemoryQoS": False}}
    assert make_node(37, memoryThrottlingFactor=0.9, **off).memory_throttling_factor == 0.9
    with pytest.raises(ConfigError, match=r"memoryThrottlingFactor: 0\.8 needs a feature gate"):
        make_node(37, memoryThrottlingFactor=0.8, **off)
