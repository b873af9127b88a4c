"""The values that the kubelet keeps in the cgroups of the QoS classes and in kubepods, computed from all pods.

Source: ``pkg/kubelet/cm/qos_container_manager_linux.go`` (UpdateCgroups, every minute and with each pod). "Guaranteed"
stands for kubepods, where the Guaranteed pods are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.resources import pod_requests
from cgroup_engine.kubelet.shares import MIN_SHARES, milli_to_shares
from cgroup_engine.model.hugepages import UNLIMITED
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import ZERO, wrapped


@dataclass(frozen=True)
class RequestSums:
    """The sums of the active pods' requests by QoS class: CPU in millicores, memory in bytes; 0 for BestEffort."""

    milli_cpu: Mapping[QosClass, int]
    memory: Mapping[QosClass, int]


def request_sums(pods: Sequence[Pod], version: KubeletVersion) -> RequestSums:
    """The sums of setCPUCgroupConfig and getQoSMemoryRequests; each pod is rounded up by itself.

    The sum of memory counts spec.resources even with the gate PodLevelResources off (since 1.32). The specs count, even
    if the kubelet has allocated other resources (GetActivePods).
    """
    cpu: dict[QosClass, int] = {"Guaranteed": 0, "Burstable": 0, "BestEffort": 0}
    memory = dict(cpu)
    for pod in (pod.asked or pod for pod in pods):
        qos, requests = qos_class(pod, version), pod_requests(pod, version)
        if qos != "BestEffort":
            cpu[qos] = wrapped(cpu[qos] + requests.get("cpu", ZERO).milli_value())
            if pod.gated_requests:
                requests = pod_requests(replace(pod, requests=pod.gated_requests), version)
            memory[qos] = wrapped(memory[qos] + requests.get("memory", ZERO).value())
    return RequestSums(cpu, memory)


def qos_shares(sums: RequestSums) -> dict[QosClass, int]:
    """CPU shares of the classes (setCPUCgroupConfig); kubepods keeps those of node allocatable."""
    return {"Burstable": milli_to_shares(sums.milli_cpu["Burstable"]), "BestEffort": MIN_SHARES}


def memory_reserve(sums: RequestSums, percent: int, allocatable: int) -> dict[QosClass, int]:
    """Bytes that qosReserved leaves to the lower classes (setMemoryReserve); none if nothing is allocatable.

    ``percent`` of the higher classes' requests is kept from the lower ones. The result may be negative, which the
    kernel refuses, or zero, which libcontainer reads as "not set".
    """
    if allocatable == 0:
        return {}
    burstable = allocatable - sums.memory["Guaranteed"] * percent // 100
    return {"Burstable": burstable, "BestEffort": burstable - sums.memory["Burstable"] * percent // 100}


def memory_protection(sums: RequestSums, version: KubeletVersion, *, tiered: bool) -> dict[QosClass, CgroupLimits]:
    """memory.min and memory.low with the gate MemoryQoS (setMemoryQoS), cgroup v2 alone.

    Up to 1.35: memory.min of kubepods and of Burstable, if there are requests. Since 1.36 (change 137584): memory.min
    of kubepods and memory.low of Burstable with the policy TieredReservation, zeros with the policy None.
    """
    burstable = sums.memory["Burstable"]
    both = sums.memory["Guaranteed"] + burstable
    if not version.at_least(36):
        return {
            "Guaranteed": CgroupLimits(memory_min=both or None),
            "Burstable": CgroupLimits(memory_min=burstable or None),
        }
    return {
        "Guaranteed": CgroupLimits(memory_min=both if tiered else 0),
        "Burstable": CgroupLimits(memory_low=burstable if tiered else 0),
    }


def _cleared(version: KubeletVersion) -> dict[QosClass, CgroupLimits]:
    """Without the gate MemoryQoS a kubelet writes zeros at its start (1.37, change 138903, from the pull request)."""
    if not version.at_least(37):
        return {}
    return {"Guaranteed": CgroupLimits(memory_min=0), "Burstable": CgroupLimits(memory_low=0)}


def unbounded_huge_pages(page_sizes: Iterable[int]) -> dict[int, int]:
    """Neither kubepods nor a class has a limit on huge pages, only pods have (setHugePagesUnbounded).

    Node allocatable gives kubepods limits when it is made; these are overwritten within a minute (since 1.22).
    """
    return dict.fromkeys(page_sizes, UNLIMITED)


def qos_limits(
    qos: QosClass,
    sums: RequestSums,
    version: KubeletVersion,
    *,
    page_sizes: Iterable[int] = (),
    reserved_percent: int | None = None,
    allocatable_memory: int = 0,
    memory_qos: bool = False,
    tiered: bool = False,
) -> CgroupLimits:
    """The values of one class that UpdateCgroups writes.

    ``page_sizes``: bytes of each size of huge pages. ``reserved_percent``: qosReserved of memory, None if off.
    ``allocatable_memory``: bytes. ``memory_qos``: is the gate on; ``tiered``: memoryReservationPolicy.
    """
    protection = memory_protection(sums, version, tiered=tiered) if memory_qos else _cleared(version)
    reserve = memory_reserve(sums, reserved_percent, allocatable_memory) if reserved_percent is not None else {}
    protected = protection.get(qos, CgroupLimits())
    return CgroupLimits(
        shares=qos_shares(sums).get(qos),
        memory=reserve.get(qos),
        hugepages=unbounded_huge_pages(page_sizes),
        memory_min=protected.memory_min,
        memory_low=protected.memory_low,
    )
