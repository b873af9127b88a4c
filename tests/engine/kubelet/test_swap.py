"""Swap of containers by release; the values of 1.32 and 1.36 are held against the kubelet's own elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.swap import NodeSwap, SwapBehavior, swap_limit
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod

GIB = 1 << 30
ASKS = {"requests": {"memory": "1Gi"}}


def _swap(pod: Pod, minor: int, behavior: SwapBehavior | None, memory_limit: int = 0) -> int | None:
    version = KubeletVersion(minor)
    node = NodeSwap(8 * GIB, 2 * GIB, behavior)
    return swap_limit(pod.containers[0], pod, qos_class(pod, version), memory_limit, node, version)


@pytest.mark.parametrize("minor", [28, 36])
def test_a_part_of_the_nodes_memory_is_the_same_part_of_its_swap(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]], minor: int
) -> None:
    assert _swap(make_pod(make_container(**ASKS)), minor, "LimitedSwap") == GIB // 4


@pytest.mark.parametrize(
    "resources",
    [{}, {"limits": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"cpu": "1"}}, {"requests": {"memory": "9Gi"}}],
)
def test_others_have_no_swap(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]], resources: dict[str, dict[str, str]]
) -> None:
    assert _swap(make_pod(make_container(**resources)), 36, "LimitedSwap") == 0


def test_critical_pods_have_no_swap_since_1_31(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(**ASKS), priority=2_000_000_000)
    assert [_swap(pod, minor, "LimitedSwap") for minor in (30, 31)] == [GIB // 4, 0]


def test_before_1_28_a_memory_limit_is_one_of_both(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(**ASKS))
    assert [_swap(pod, 27, "LimitedSwap", limit) for limit in (0, GIB)] == [None, 0]


@pytest.mark.parametrize("behavior", [None, "UnlimitedSwap"])
def test_nothing_said_and_unlimited_are_no_limit(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]], behavior: SwapBehavior | None
) -> None:
    assert _swap(make_pod(make_container(**ASKS)), 28, behavior) is None


@pytest.mark.parametrize(("swap", "text"), [("LimitedSwap", str(GIB // 4)), ("NoSwap", "0")])
def test_the_tree_has_it_in_memory_swap_max(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    swap: str,
    text: str,
) -> None:
    node = make_node(memorySwap={"swapBehavior": swap}, swap=2 * GIB)
    container = wanted_tree(node, [make_pod(make_container(**ASKS))])[-1]
    assert container.limits.unified["memory.swap.max"] == text
