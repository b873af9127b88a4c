"""MemoryQoS (gate MemoryQoS, alpha; cgroup v2): memory.min, memory.low and memory.high of pods and containers.

Sources: ``pkg/kubelet/cm/helpers_linux.go`` (ResourceConfigForPod),
``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`` (generateLinuxContainerResources).
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


def memory_high(request: int, limit: int, allocatable: int, factor: float, version: KubeletVersion) -> int | None:
    """memory.high of a container; None if it is not written.

    ``factor`` is memoryThrottlingFactor. Since 1.27 (change 115371), if request and limit differ: request + factor ×
    (limit - request), rounded down to a page. Before: factor × limit. Without a limit the node's ``allocatable``
    memory takes its place. The value is written only if it is above the request.
    """
    return memory_high_rule(request, limit, allocatable, factor, version)[0]


def memory_high_rule(
    request: int, limit: int, allocatable: int, factor: float, version: KubeletVersion
) -> tuple[int | None, str]:
    """``memory_high``, and the formula with the numbers filled in."""
    most = limit or allocatable
    of = f"limit {limit}" if limit else f"the node's allocatable {allocatable}"
    if not version.at_least(27):
        high, formula = int(most * factor), f"{factor} × {of}"
    elif request == limit or most <= 0:
        return None, ""
    else:
        high = int(math.floor(request + (float(most) - float(request)) * factor) / _PAGE) * _PAGE
        formula = f"request {request} + {factor} × ({of} - request), rounded down to a page"
    return high if high > request else None, f"MemoryQoS: {formula} = {high} bytes"
