"""The values of kubepods and of the reserved cgroups, each with its reason.

Source: ``pkg/kubelet/cm/node_container_manager_linux.go``; the values are those of ``allocatable``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from cgroup_engine.kubelet.allocatable import node_limits, reserved_limits
from cgroup_engine.kubelet.class_values import values_over_kubepods
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos_cgroups import RequestSums
from cgroup_engine.kubelet.shares import shares_rule
from cgroup_engine.model.hugepages import resource_of_page_size
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.pod import Pod, Resources
from cgroup_engine.model.reason import CM, Citation, Inputs, Reason, amounts
from cgroup_engine.model.wanted_cgroup import Reasons, written

Reserved = Literal["systemReserved", "kubeReserved"]

_FILE = f"{CM}/node_container_manager_linux.go"
_CONFIG = Citation("getCgroupConfig", _FILE)
_EXISTING = Citation("enforceExistingCgroup", _FILE)
_HUGETLB = Citation("maybeSetHugetlb", f"{CM}/cgroup_manager_linux.go")


def values_of_node(node: NodeConfig, sums: RequestSums, pods: Sequence[Pod]) -> tuple[CgroupLimits, Reasons]:
    """kubepods: the limits of node allocatable, and the values that the QoS manager writes over them."""
    enforced = "pods" in node.enforce
    amounts = node.allocatable if enforced else node.capacity
    what = "allocatable" if enforced else "capacity (pods not in enforceNodeAllocatable)"
    over, reasons_over = values_over_kubepods(node, sums, pods)
    limits = replace(
        node_limits(amounts), hugepages=over.hugepages, memory_min=over.memory_min, memory_low=over.memory_low
    )
    limits = written(limits, node.version)
    limits, reasons = _with_weight(node, limits, _reasons(node, amounts, limits, what, _CONFIG, None), "node")
    return replace(limits, cpus=node.all_cpus), reasons | reasons_over | _cpus_reason(node, _CONFIG)


def values_of_reserved(node: NodeConfig, what: Reserved, *, compressible_only: bool) -> tuple[CgroupLimits, Reasons]:
    """systemReservedCgroup or kubeReservedCgroup; ``compressible_only``: CPU alone is enforced."""
    amounts = node.system_reserved if what == "systemReserved" else node.kube_reserved
    limits = reserved_limits(
        amounts,
        node.huge_pages,
        compressible_only=compressible_only,
        memory_qos=node.version.enabled("MemoryQoS"),
    )
    limits = written(limits, node.version)
    reasons = _reasons(node, amounts, limits, what, _EXISTING, what) | _cpus_reason(node, _EXISTING)
    if limits.memory_min is not None:
        why = f"enforceExistingCgroup: MemoryQoS protects {what} memory = {limits.memory_min} bytes"
        reasons["memory_min"] = Reason(why, _EXISTING, partial(_inputs, node, what, "memory"))
    for page in limits.hugepages:
        reasons[resource_of_page_size(page)] = Reason(
            "maybeSetHugetlb: nothing can be reserved of huge pages", _HUGETLB
        )
    limits, reasons = _with_weight(node, limits, reasons, "reserved")
    return replace(limits, cpus=node.all_cpus), reasons


def _with_weight(
    node: NodeConfig, limits: CgroupLimits, reasons: Reasons, level: Literal["node", "reserved"]
) -> tuple[CgroupLimits, Reasons]:
    if limits.shares is None:
        return limits, reasons
    weight = node.cpu_weight(limits.shares, level)
    return replace(limits, weight=weight.value), {**reasons, "weight": weight.reason}


def _reasons(
    node: NodeConfig, amounts: Resources, limits: CgroupLimits, what: str, source: Citation, reserved: Reserved | None
) -> Reasons:
    """The reasons of CPU, memory and tasks; ``reserved``: which reservation, None for kubepods."""
    reasons: Reasons = {}
    if limits.shares is not None:
        why = shares_rule(f"{what} cpu", amounts["cpu"].milli_value(), limits.shares)
        reasons["shares"] = Reason(why, source, partial(_inputs, node, reserved, "cpu"))
    if limits.memory is not None:
        why = f"getCgroupConfig: {what} memory = {limits.memory} bytes"
        reasons["memory"] = Reason(why, source, partial(_inputs, node, reserved, "memory"))
    if limits.pids is not None:
        why = f"getCgroupConfig: {what} pid = {limits.pids} tasks"
        reasons["pids"] = Reason(why, source, partial(_inputs, node, reserved, "pid"))
    return reasons


def _cpus_reason(node: NodeConfig, source: Citation) -> Reasons:
    if node.all_cpus is None:
        return {}
    why = "getCgroupConfig: without a CPU manager, all CPUs of the node"
    return {"cpus": Reason(why, source, lambda: {"the node's CPUs": str(node.cpu_list)})}


def _inputs(node: NodeConfig, reserved: Reserved | None, name: str) -> Inputs:
    """The fields of a reservation for a resource; without one, the parts of node allocatable."""
    given = {"kubeReserved": node.kube_reserved, "systemReserved": node.system_reserved}
    inputs: Inputs = {}
    if reserved is None:
        inputs[f"capacity.{name}"] = str(node.capacity[name])
    for what, reservation in given.items():
        if what == reserved or (reserved is None and "pods" in node.enforce):
            inputs |= amounts(what, reservation, name)
    return inputs
