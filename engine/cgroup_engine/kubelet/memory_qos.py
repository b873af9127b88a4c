"""MemoryQoS (gate MemoryQoS, on since 1.37; cgroup v2): memory.min, memory.low, memory.high of pods and containers.

Sources: ``pkg/kubelet/cm/helpers_linux.go`` (ResourceConfigForPod, ApplyPodLevelMemoryHigh),
``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`` (generateLinuxContainerResources). What 1.37 changed comes
from the pull requests.
All amounts are bytes; 0 stands for no request or no limit.
"""

from __future__ import annotations

import math
from typing import Literal

from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass

MemoryReservationPolicy = Literal["None", "TieredReservation"]
_PAGE = 4096  # the kubelet takes the machine's

Protection = tuple[int | None, int | None]  # memory.min, memory.low; None is "not written"


def pod_protection(request: int, qos: QosClass, policy: MemoryReservationPolicy, version: KubeletVersion) -> Protection:
    """memory.min and memory.low of a pod, from its memory request.

    Up to 1.35 memory.min is the request of every pod. Since 1.36 (changes 137584, 137719) only the policy
    TieredReservation protects: Guaranteed pods by memory.min, Burstable ones by memory.low.
    """
    return _protection(request, qos, policy, version) if request > 0 else (None, None)


def container_protection(
    request: int, qos: QosClass, policy: MemoryReservationPolicy, version: KubeletVersion
) -> Protection:
    """memory.min and memory.low of a container: as for pods, but zeros since 1.36 where nothing protects."""
    protection = _protection(request, qos, policy, version) if request != 0 else (None, None)
    return (0, 0) if version.at_least(36) and protection == (None, None) else protection


def _protection(request: int, qos: QosClass, policy: MemoryReservationPolicy, version: KubeletVersion) -> Protection:
    if not version.at_least(36):
        return request, None
    if policy == "None":
        return None, None
    return (request, None) if qos == "Guaranteed" else (None, request)


def memory_high(
    request: int, limit: int, allocatable: int, factor: float | None, version: KubeletVersion
) -> int | None:
    """memory.high of a container; None if it is not written.

    ``factor`` is memoryThrottlingFactor; None (since 1.37, change 140007) is no throttling. Since 1.27 (change 115371),
    if request and limit differ: request + factor × (limit - request), rounded down to a page. Before: factor × limit.
    Without a limit the node's ``allocatable`` memory takes its place; without a request too since 1.37 (change
    138139). The value is written only if it is above the request.
    """
    return memory_high_rule(request, limit, allocatable, factor, version)[0]


def memory_high_rule(
    request: int, limit: int, allocatable: int, factor: float | None, version: KubeletVersion
) -> tuple[int | None, str]:
    """``memory_high``, and the formula with the numbers filled in."""
    most = limit or allocatable
    of = f"limit {limit}" if limit else f"the node's allocatable {allocatable}"
    if factor is None:
        return None, ""
    if not version.at_least(27):
        high, formula = int(most * factor), f"{factor} × {of}"
    elif most <= 0 or (request == limit and (request > 0 or not version.at_least(37))):
        return None, ""
    else:
        high = int(math.floor(request + (float(most) - float(request)) * factor) / _PAGE) * _PAGE
        formula = f"request {request} + {factor} × ({of} - request), rounded down to a page"
    return high if high > request else None, f"MemoryQoS: {formula} = {high} bytes"


def pod_memory_high_rule(
    request: int, limit: int, factor: float | None, version: KubeletVersion
) -> tuple[int | None, str]:
    """memory.high of a pod with spec.resources, and its formula; None if it is not written.

    Since 1.37 (change 140262): the formula of containers with the pod's request and limit, the overhead included.
    ``limit``: 0 if none is declared, and then there is no memory.high.
    """
    return memory_high_rule(request, limit, 0, factor, version) if version.at_least(37) else (None, "")
