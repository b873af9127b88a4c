"""The values of the QoS classes' cgroups, each with its reason, and those that the QoS manager writes to kubepods.

Source: ``pkg/kubelet/cm/qos_container_manager_linux.go``; the values are those of ``qos_cgroups``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.qos_cgroups import RequestSums, qos_limits
from cgroup_engine.kubelet.resources import pod_requests
from cgroup_engine.kubelet.shares import MIN_SHARES, shares_rule
from cgroup_engine.model.hugepages import resource_of_page_size
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.reason import CM, Citation, Inputs, Reason, amounts
from cgroup_engine.model.wanted_cgroup import Reasons, protection_reasons, written

_FILE = f"{CM}/qos_container_manager_linux.go"
_SHARES = Citation("setCPUCgroupConfig", _FILE)
_RESERVE = Citation("setMemoryReserve", _FILE)
_PROTECTION = Citation("setMemoryQoS", _FILE)
_UNBOUNDED = Citation("setHugePagesUnbounded", _FILE)
_BURSTABLE: tuple[QosClass, ...] = ("Burstable",)
# class -> the classes whose requests are reserved before it (qosReserved)
_ABOVE: dict[QosClass, tuple[QosClass, ...]] = {
    "Burstable": ("Guaranteed",),
    "BestEffort": ("Guaranteed", "Burstable"),
}


def values_of_class(
    node: NodeConfig, sums: RequestSums, qos: QosClass, pods: Sequence[Pod]
) -> tuple[CgroupLimits, Reasons]:
    """The values of Burstable or BestEffort. ``pods``: all of the node; ``sums``: their requests."""
    limits = _limits(qos, sums, node)
    reasons = _shared_reasons(limits, _BURSTABLE, node, pods)
    if qos == "Burstable":
        what = "setCPUCgroupConfig: sum of the Burstable pods' cpu requests"
        why = shares_rule(what, sums.milli_cpu[qos], limits.shares)
        reasons["shares"] = Reason(why, _SHARES, partial(_requests, node, pods, _BURSTABLE, "cpu"))
    else:
        reasons["shares"] = Reason(f"setCPUCgroupConfig: BestEffort is always {MIN_SHARES} shares", _SHARES)
    if limits.memory is not None:
        reasons["memory"] = _reserve(node, qos, limits.memory, pods)
    weight = node.cpu_weight(limits.shares or MIN_SHARES, "qos")
    reasons["weight"] = weight.reason
    return written(replace(limits, weight=weight.value), node.version), reasons


def values_over_kubepods(node: NodeConfig, sums: RequestSums, pods: Sequence[Pod]) -> tuple[CgroupLimits, Reasons]:
    """Huge pages and memory protection of kubepods, where the Guaranteed pods are."""
    limits = _limits("Guaranteed", sums, node)
    return limits, _shared_reasons(limits, ("Guaranteed", "Burstable"), node, pods)


def _limits(qos: QosClass, sums: RequestSums, node: NodeConfig) -> CgroupLimits:
    return qos_limits(
        qos,
        sums,
        node.version,
        page_sizes=node.huge_pages,
        reserved_percent=node.qos_reserved_memory,
        allocatable_memory=node.allocatable["memory"].value(),
        memory_qos=node.version.enabled("MemoryQoS"),
        tiered=node.memory_reservation_policy == "TieredReservation",
    )


def _shared_reasons(
    limits: CgroupLimits, classes: Sequence[QosClass], node: NodeConfig, pods: Sequence[Pod]
) -> Reasons:
    """The reasons of huge pages and of memory protection; ``classes``: whose memory requests count."""
    reasons = {
        resource_of_page_size(page): Reason("setHugePagesUnbounded: the pods' own limits count", _UNBOUNDED)
        for page in limits.hugepages
    }
    asked = f"setMemoryQoS: sum of the {' and '.join(classes)} pods' memory requests"
    inputs = partial(_requests, node, pods, classes, "memory")
    none = "setMemoryQoS: nothing is protected"
    if not node.version.enabled("MemoryQoS"):
        none = "MemoryQoS is off: a kubelet clears at its start what was protected"
    return reasons | protection_reasons(limits, asked, none, _PROTECTION, inputs)


def _reserve(node: NodeConfig, qos: QosClass, memory: int, pods: Sequence[Pod]) -> Reason:
    """The reason of the memory that qosReserved leaves to a class."""
    why = (
        f"setMemoryReserve: allocatable {node.allocatable['memory'].value()} bytes - {node.qos_reserved_memory}% "
        f"of the {' and '.join(_ABOVE[qos])} pods' memory requests = {memory} bytes"
    )
    if memory == 0:
        why += ", which libcontainer takes for no limit"
    if memory < 0:
        why += ", which the kernel refuses; retrySetMemoryReserve: what is in use is the limit then"

    def inputs() -> Inputs:
        given = {
            "allocatable memory": str(node.allocatable["memory"]),
            "qosReserved.memory": f"{node.qos_reserved_memory}%",
        }
        return {**given, **_requests(node, pods, _ABOVE[qos], "memory")}

    return Reason(why, _RESERVE, inputs)


def _requests(node: NodeConfig, pods: Sequence[Pod], classes: Collection[QosClass], name: str) -> Inputs:
    """The requests of all pods of some classes."""
    inputs: Inputs = {}
    for pod in pods:
        if qos_class(pod, node.version) in classes:
            inputs |= amounts(f"{pod} requests", pod_requests(pod.asked or pod, node.version), name)
    return inputs
