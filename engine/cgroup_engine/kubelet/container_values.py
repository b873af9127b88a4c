"""The values of a container's cgroup, each with its reason.

Source: ``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`` (generateLinuxContainerResources,
calculateLinuxResources, configureContainerSwapResources, GetHugepageLimitsFromResources).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cgroup_engine.kubelet.assigned_cpus import assigned_cpus, assigned_nodes
from cgroup_engine.kubelet.exclusive_cpus import NO_QUOTA, disables_quota, has_exclusive_cpus
from cgroup_engine.kubelet.memory_qos import container_protection, memory_high_rule
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.shares import (
    MIN_SHARES,
    milli_to_quota,
    milli_to_shares,
    quota_inputs,
    quota_rule,
    shares_rule,
)
from cgroup_engine.kubelet.swap import NodeSwap, swap_rule
from cgroup_engine.model.hugepages import hugepage_limits
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CfsQuota, CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO, Quantity
from cgroup_engine.model.reason import THE_RUNTIME, Citation, Inputs, Reason, Ruled, amounts, setting
from cgroup_engine.model.wanted_cgroup import Reasons, hugepage_reasons, protection_reasons, written

_FILE = "pkg/kubelet/kuberuntime/kuberuntime_container_linux.go"
_WHAT = "generateLinuxContainerResources"
_GENERATED = Citation(_WHAT, _FILE)
_CALCULATED = Citation("calculateLinuxResources", _FILE)
_SWAP = Citation("configureContainerSwapResources", _FILE)
_HUGEPAGES = Citation("GetHugepageLimitsFromResources", _FILE)


def values_of_container(
    node: NodeConfig, pod: Pod, container: Container, qos: QosClass
) -> tuple[CgroupLimits, Reasons]:
    """generateLinuxContainerResources: the values, as libcontainer writes them, and their reasons.

    ``pids`` is what systemd gives to a scope.
    """
    exclusive = disables_quota(node) and has_exclusive_cpus(container, pod, qos, node)
    limits, reasons = _linux_resources(container, pod, node.cfs, node.version, exclusive=exclusive)
    weight, group = node.cpu_weight(limits.shares or MIN_SHARES, "container"), _oom_group(node)
    pages = {page: limits.hugepages.get(page, 0) for page in node.huge_pages}
    reasons["weight"] = weight.reason
    if group.value:
        reasons["oom_group"] = group.reason
    cpus, nodes = assigned_cpus(node, pod, container, qos), assigned_nodes(node, pod, container)
    reasons |= {"cpus": cpus.reason} if cpus.value is not None else {}
    reasons |= {"mems": nodes.reason} if nodes.value is not None else {}
    asked, none = "GetHugepageLimitsFromResources: limits", "GetHugepageLimitsFromResources: no limit"
    reasons |= hugepage_reasons(pages, asked, none, _HUGEPAGES, lambda name: partial(_inputs, container, pod, name))
    swap = _swap(node, pod, container, qos, limits.memory or 0)
    if swap is not None:
        both = f"{reasons['memory'].why}, and with swap as much"
        reasons |= {"swap": swap.reason, "memory_and_swap": Reason(both, _GENERATED, swap.reason.find_inputs)}
    limits = replace(
        written(limits, node.version),
        weight=weight.value,
        oom_group=group.value,
        hugepages=pages,
        cpus=cpus.value,
        mems=nodes.value,
        swap=None if swap is None else swap.value,
        pids=node.scope_tasks,
    )
    if node.version.enabled("MemoryQoS"):
        limits = _with_memory_qos(limits, reasons, node, pod, container, qos)
    return limits, reasons


def limits_for_container(container: Container, pod: Pod, cfs: CfsQuota, version: KubeletVersion) -> CgroupLimits:
    """generateLinuxContainerResources: the values the kubelet hands to the runtime for a container.

    Shares come from the request. Without a request they come from the limit (1.24: also if the request is an explicit
    zero; change 108832 in 1.25). Before 1.24 they have no upper bound. The quota and the memory limit come from the
    limits, which fall back to the pod's (gate PodLevelResources). The period is written with and without a quota.
    """
    limits, _ = _linux_resources(container, pod, cfs, version)
    return limits


def _linux_resources(
    container: Container, pod: Pod, cfs: CfsQuota, version: KubeletVersion, *, exclusive: bool = False
) -> tuple[CgroupLimits, Reasons]:
    """``limits_for_container`` with the reasons; ``exclusive``: the container has CPUs of its own."""
    shares = _shares(container, pod, version)
    quota = _quota(container, pod, cfs, exclusive=exclusive)
    memory = _memory(container, pod)
    limits = CgroupLimits(
        shares=shares.value,
        quota_us=quota.value,
        period_us=cfs.period_us if cfs.enforced else None,
        memory=memory.value,
        hugepages=_huge_pages(container, pod, version),
    )
    return limits, {"shares": shares.reason, "quota": quota.reason, "memory": memory.reason}


def _shares(container: Container, pod: Pod, version: KubeletVersion) -> Ruled[int]:
    stated = container.requests.get("cpu")
    used = (
        stated
        if stated is not None and (version.at_least(25) or not stated.is_zero())
        else _limit(container, pod, "cpu")
    )
    milli = used.milli_value()
    shares = milli_to_shares(milli) if version.at_least(24) else max(MIN_SHARES, milli * 1024 // 1000)
    if stated is not None and milli_to_shares(stated.milli_value()) == shares:
        why = shares_rule(f"{_WHAT}: request cpu", stated.milli_value(), shares)
    elif shares == MIN_SHARES:
        why = f"{_WHAT}: no cpu request, {MIN_SHARES} shares"
    else:
        why = f"{_WHAT}: no cpu request, the limit's {shares} shares"
    return Ruled(shares, Reason(why, _CALCULATED, lambda: _inputs(container, pod, "cpu")))


def _quota(container: Container, pod: Pod, cfs: CfsQuota, *, exclusive: bool = False) -> Ruled[int | None]:
    """``exclusive``: the container has CPUs of its own."""

    def ruled(value: int | None, why: str) -> Ruled[int | None]:
        def inputs() -> Inputs:
            return {**_inputs(container, pod, "cpu", requests=False), **quota_inputs(cfs)}

        return Ruled(value, Reason(why, _CALCULATED, inputs))

    if not cfs.enforced:
        return ruled(None, "cpuCFSQuota: false")
    if exclusive:
        return ruled(-1, NO_QUOTA)
    quota = milli_to_quota(_limit(container, pod, "cpu").milli_value(), cfs.period_us)
    if not quota:
        return ruled(quota, f"{_WHAT}: no cpu limit")
    own = container.limits.get("cpu", ZERO).milli_value()
    what = f"{_WHAT}: limit cpu" if own else f"{_WHAT}: the pod's limit cpu"
    return ruled(quota, quota_rule(what, own or quota * 1000 // cfs.period_us, cfs, quota))


def _memory(container: Container, pod: Pod) -> Ruled[int | None]:
    memory = _limit(container, pod, "memory").value() or None
    why = f"{_WHAT}: limit memory = {memory} bytes" if memory else f"{_WHAT}: no memory limit"
    return Ruled(memory, Reason(why, _GENERATED, lambda: _inputs(container, pod, "memory", requests=False)))


def _huge_pages(container: Container, pod: Pod, version: KubeletVersion) -> dict[int, int]:
    """GetHugepageLimitsFromResources: the container's limits, and since 1.34 (change 131089) else the pod's."""
    limits = hugepage_limits(pod.limits) if version.at_least(34) else {}
    return {**limits, **hugepage_limits(container.limits)}


def _oom_group(node: NodeConfig) -> Ruled[bool | None]:
    why = "singleProcessOOMKill: false"
    if not node.version.at_least(32):
        why = "calculateLinuxResources: always in 1.28 to 1.31"
    given = bool(node.single_process_oom_kill)

    def inputs() -> Inputs:
        return dict([setting("singleProcessOOMKill", given)])

    return Ruled(None if given else True, Reason(why, _CALCULATED, inputs))


def _with_memory_qos(
    values: CgroupLimits, reasons: Reasons, node: NodeConfig, pod: Pod, container: Container, qos: QosClass
) -> CgroupLimits:
    """memory.min, memory.low and memory.high of the gate MemoryQoS."""
    request, limit = (given.get("memory", ZERO).value() for given in (container.requests, container.limits))
    if node.version.at_least(37):  # change 140262: getMemoryLimit, which falls back to the pod's
        limit = _limit(container, pod, "memory").value()
    least, low = container_protection(request, qos, node.memory_reservation_policy, node.version)
    allocatable, factor = node.allocatable["memory"].value(), node.memory_throttling_factor
    high, formula = memory_high_rule(request, limit, allocatable, factor, node.version)

    def protection_inputs() -> Inputs:
        policy = {"memoryReservationPolicy": node.memory_reservation_policy}
        return {**_inputs(container, pod, "memory", limits=False), **policy}

    values = replace(values, memory_min=least, memory_low=low, memory_high=high)
    asked, none = "MemoryQoS: request memory", "MemoryQoS: not protected"
    reasons |= protection_reasons(values, asked, none, _GENERATED, protection_inputs)
    if high is not None:
        reasons["memory_high"] = Reason(
            formula,
            _GENERATED,
            lambda: {**_inputs(container, pod, "memory"), "memoryThrottlingFactor": str(factor)},
        )
    return values


def _swap(node: NodeConfig, pod: Pod, container: Container, qos: QosClass, memory: int) -> Ruled[int] | None:
    """Bytes of swap beside the memory; None: no limit."""
    if node.swap_behavior is None and memory:
        # containerd since 1.5 and CRI-O, where the kernel accounts for swap
        return Ruled(0, Reason("the runtime: no swap for a container with a memory limit", THE_RUNTIME))
    of_node = NodeSwap(node.memory, node.swap, node.swap_behavior)
    swap, why = swap_rule(container, pod, qos, memory, of_node, node.version)
    if swap is None:
        return None

    def inputs() -> Inputs:
        said = [
            setting("swapBehavior", node.swap_behavior),
            setting("node's memory", node.memory),
            setting("node's swap", node.swap),
        ]
        return {**_inputs(container, pod, "memory"), **dict(said)}

    return Ruled(swap, Reason(why, _SWAP, inputs))


def _limit(container: Container, pod: Pod, name: str) -> Quantity:
    own = container.limits.get(name, ZERO)
    return pod.limits.get(name, ZERO) if own.is_zero() else own


def _inputs(container: Container, pod: Pod, name: str, *, requests: bool = True, limits: bool = True) -> Inputs:
    """The fields of the container and of spec.resources for a resource."""
    inputs: Inputs = {}
    if requests:
        inputs |= amounts("requests", container.requests, name)
    if limits:
        inputs |= amounts("limits", container.limits, name)
        inputs |= amounts("spec.resources.limits", pod.limits, name)
    return inputs
