"""The swap limit of a container.

Sources: ``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`` (configureContainerSwapResources,
GetContainerSwapBehavior, calcSwapForBurstablePods), KEP-2400.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cgroup_engine.kubelet.qos import is_critical
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO

SwapBehavior = Literal["NoSwap", "LimitedSwap", "UnlimitedSwap"]


@dataclass(frozen=True)
class NodeSwap:
    """A node's memory and swap in bytes, and swapBehavior; None: the kubelet tells the runtime nothing."""

    memory: int
    swap: int
    behavior: SwapBehavior | None


def may_swap(
    container: Container, pod: Pod, qos: QosClass, behavior: SwapBehavior | None, version: KubeletVersion
) -> bool:
    """Is the container's swap behavior LimitedSwap, since 1.28 and on cgroup v2 (GetContainerSwapBehavior)?"""
    request, limit = container.requests.get("memory", ZERO), container.limits.get("memory", ZERO)
    return (
        behavior == "LimitedSwap"
        and qos == "Burstable"
        and request.nano != limit.nano  # they are the same if there are none
        and not (version.at_least(31) and is_critical(pod))
    )


def swap_limit(
    container: Container, pod: Pod, qos: QosClass, memory_limit: int, node: NodeSwap, version: KubeletVersion
) -> int | None:
    """Bytes of swap beside the container's memory; None: no limit, or the kubelet tells the runtime nothing.

    LimitedSwap since 1.28 (change 118764), on cgroup v2: memory request / the node's memory × the node's swap. Only
    containers of Burstable pods get it, if their memory request and limit differ, and if the pod is not critical
    (1.31, change 125277). All others get 0, as with NoSwap. Up to 1.27 a container with a memory limit gets 0, and
    others have no limit. UnlimitedSwap (up to 1.29) limits nothing.

    On cgroup v1 no kubelet gives swap: memory with swap has the same limit as memory alone.
    """
    return swap_rule(container, pod, qos, memory_limit, node, version)[0]


def swap_rule(
    container: Container, pod: Pod, qos: QosClass, memory_limit: int, node: NodeSwap, version: KubeletVersion
) -> tuple[int | None, str]:
    """``swap_limit`` and its reason, with the numbers filled in."""
    none = f"swap: {node.behavior} gives this container none"
    if node.behavior is None or node.behavior == "UnlimitedSwap":
        return None, ""
    if not version.at_least(28):
        return (0 if memory_limit else None), none
    request = container.requests.get("memory", ZERO)
    if not may_swap(container, pod, qos, node.behavior, version) or request.value() > node.memory:
        return 0, none
    swap = int(request.value() / node.memory * node.swap)
    formula = f"request {request.value()} / {node.memory} bytes of the node × {node.swap} bytes of swap = {swap} bytes"
    return swap, f"calcSwapForBurstablePods: {formula}" if swap else none
