"""The reasons of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod


def test_memory_that_is_reserved_comes_from_the_reservation_and_not_from_pods(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(
        featureGates={"MemoryQoS": True},
        enforceNodeAllocatable=["pods", "kube-reserved"],
        kubeReserved={"memory": "1Gi"},
        kubeReservedCgroup="/kube",
    )
    pods = [make_pod(make_container(requests={"memory": "64Mi"}))]
    [reserved] = [cgroup for cgroup in wanted_tree(node, pods) if cgroup.level == "reserved"]
    assert reserved.limits.memory_min == 1 << 30
    assert reserved.reasons["memory_min"].inputs == {"kubeReserved.memory": "1Gi"}


@pytest.mark.parametrize("minor", [24, 36])
def test_a_weight_is_reasoned_where_it_is_decided(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    minor: int,
) -> None:
    pods = [make_pod(make_container(requests={"cpu": "1"}))]
    for cgroup in wanted_tree(make_node(minor), pods):
        if cgroup.limits.weight is not None:
            assert f"= {cgroup.limits.weight}" in cgroup.reasons["weight"].why
