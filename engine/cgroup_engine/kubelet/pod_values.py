"""The values of a pod's cgroup, each with its reason.

Sources: ``pkg/kubelet/cm/helpers_linux.go`` (ResourceConfigForPod), ``pkg/kubelet/cm/pod_container_manager_linux.go``
(EnsureExists).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

from cgroup_engine.kubelet.exclusive_cpus import NO_QUOTA, disables_quota, pod_has_exclusive_cpus
from cgroup_engine.kubelet.memory_qos import pod_memory_high_rule, pod_protection
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resources import (
    pod_level_set,
    pod_limits,
    pod_requests,
    starting_steps,
    summed,
)
from cgroup_engine.kubelet.shares import (
    MIN_SHARES,
    milli_to_quota,
    milli_to_shares,
    quota_inputs,
    quota_rule,
    shares_rule,
    systemd_quota,
)
from cgroup_engine.model.hugepages import hugepage_limits
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CfsQuota, CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Pod, Resources
from cgroup_engine.model.quantity import ZERO
from cgroup_engine.model.reason import CM, Citation, Inputs, Reason, Ruled, amounts, setting
from cgroup_engine.model.wanted_cgroup import Reasons, hugepage_reasons, protection_reasons, written, written_pids

_HELPERS = f"{CM}/helpers_linux.go"
_CONFIG = Citation("ResourceConfigForPod", _HELPERS)
_HUGEPAGES = Citation("HugePageLimits", _HELPERS)
_MEMORY_HIGH = Citation("ApplyPodLevelMemoryHigh", _HELPERS)
_PIDS = Citation("EnsureExists", f"{CM}/pod_container_manager_linux.go")
_UNDECLARED = "ResourceConfigForPod: not every container declares a {} limit"
_UNLIMITED = "ResourceConfigForPod: a BestEffort pod is not limited"


def values_of_pod(node: NodeConfig, pod: Pod, qos: QosClass) -> tuple[CgroupLimits, Reasons]:
    """EnsureExists: the values of ResourceConfigForPod and podPidsLimit, as libcontainer writes them."""
    exclusive = disables_quota(node) and pod_has_exclusive_cpus(pod, qos, node)
    limits, reasons = _resource_config(
        pod, qos, node.cfs, node.version, exclusive=exclusive, systemd=node.driver == "systemd"
    )
    pids, weight = _pids(node), node.cpu_weight(limits.shares or MIN_SHARES, "pod")
    pages = {page: limits.hugepages.get(page, 0) for page in node.huge_pages}
    fields: dict[str, Any] = {"pids": pids.value, "weight": weight.value, "hugepages": pages}
    reasons |= {"pids": pids.reason, "weight": weight.reason}
    asked, none = "HugePageLimits: PodRequests", "toResources: none are asked for"
    reasons |= hugepage_reasons(pages, asked, none, _HUGEPAGES, lambda name: partial(_inputs, pod, "requests", name))
    if node.version.enabled("MemoryQoS"):
        request = pod_requests(pod, node.version).get("memory", ZERO).value()
        least, low = pod_protection(request, qos, node.memory_reservation_policy, node.version)
        high = _memory_high(pod, qos, request, node)
        limits = replace(limits, **fields, memory_min=least, memory_low=low, memory_high=high.value)
        asked = "ResourceConfigForPod: MemoryQoS, PodRequests memory"
        reasons |= protection_reasons(limits, asked, "", _CONFIG, partial(_protection_inputs, pod, node))
        reasons |= {"memory_high": high.reason} if high.value is not None else {}
    else:
        limits = replace(limits, **fields)
    return written(limits, node.version), reasons


def limits_for_pod(pod: Pod, qos: QosClass, cfs: CfsQuota, version: KubeletVersion) -> CgroupLimits:
    """ResourceConfigForPod: the values of a pod's cgroup.

    Shares come from the requests. The quota and the memory limit are the sums of the limits: of a Guaranteed pod
    always, of a Burstable one only if every container or spec.resources declares that limit, of a BestEffort one
    never. Init containers count too (since 1.23, change 103107). Huge pages come from the requests (before 1.23 from
    those of the regular containers).
    """
    limits, _ = _resource_config(pod, qos, cfs, version)
    return limits


def _resource_config(
    pod: Pod,
    qos: QosClass,
    cfs: CfsQuota,
    version: KubeletVersion,
    *,
    exclusive: bool = False,
    systemd: bool = False,
) -> tuple[CgroupLimits, Reasons]:
    """ResourceConfigForPod with its reasons; ``exclusive`` and ``systemd`` as ``_quota``."""
    requests, limits = pod_requests(pod, version), pod_limits(pod, version)
    shares = _shares(pod, qos, requests)
    quota = _quota(pod, qos, limits, cfs, version, exclusive=exclusive, systemd=systemd)
    memory = _memory(pod, qos, limits, version)
    config = CgroupLimits(
        shares=shares.value,
        quota_us=quota.value,
        period_us=None if quota.value is None else cfs.period_us,
        memory=memory.value,
        hugepages=_huge_pages(pod, requests, version),
    )
    return config, {"shares": shares.reason, "quota": quota.reason, "memory": memory.reason}


def _shares(pod: Pod, qos: QosClass, requests: Resources) -> Ruled[int]:
    inputs = partial(_inputs, pod, "requests", "cpu")
    if qos == "BestEffort":
        why = f"ResourceConfigForPod: a BestEffort pod has {MIN_SHARES} shares"
        return Ruled(MIN_SHARES, Reason(why, _CONFIG, inputs))
    milli = requests.get("cpu", ZERO).milli_value()
    shares = milli_to_shares(milli)
    return Ruled(shares, Reason(shares_rule("ResourceConfigForPod: PodRequests cpu", milli, shares), _CONFIG, inputs))


def _quota(
    pod: Pod,
    qos: QosClass,
    limits: Resources,
    cfs: CfsQuota,
    version: KubeletVersion,
    *,
    exclusive: bool = False,
    systemd: bool = False,
) -> Ruled[int | None]:
    """``exclusive``: containers have CPUs of their own. ``systemd``: the driver is systemd's, which rounds up."""

    def ruled(value: int | None, why: str) -> Ruled[int | None]:
        return Ruled(value, Reason(why, _CONFIG, partial(_quota_inputs, pod, cfs)))

    if qos == "BestEffort":
        return ruled(None, _UNLIMITED)
    if not _declares(pod, qos, "cpu", version):
        return ruled(None, _UNDECLARED.format("cpu"))
    if not cfs.enforced:
        return ruled(-1, "cpuCFSQuota: false")
    if exclusive:
        return ruled(-1, NO_QUOTA)
    milli = limits.get("cpu", ZERO).milli_value()
    quota = milli_to_quota(milli, cfs.period_us)
    if quota == 0:
        return ruled(0, _UNDECLARED.format("cpu"))
    if systemd and quota > 0:
        quota = systemd_quota(quota, cfs.period_us)
    return ruled(quota, quota_rule("ResourceConfigForPod: PodLimits cpu", milli, cfs, quota))


def _memory(pod: Pod, qos: QosClass, limits: Resources, version: KubeletVersion) -> Ruled[int | None]:
    memory: int | None = None
    why = _UNLIMITED
    if qos != "BestEffort":
        memory = limits.get("memory", ZERO).value() if _declares(pod, qos, "memory", version) else None
        why = f"ResourceConfigForPod: PodLimits memory = {memory} bytes" if memory else _UNDECLARED.format("memory")
    return Ruled(memory, Reason(why, _CONFIG, partial(_inputs, pod, "limits", "memory")))


def _memory_high(pod: Pod, qos: QosClass, request: int, node: NodeConfig) -> Ruled[int | None]:
    """ApplyPodLevelMemoryHigh (1.37, from the pull request): only of pods with spec.resources and a declared limit."""
    version, factor = node.version, node.memory_throttling_factor
    limited = pod_level_set(pod) and _declares(pod, qos, "memory", version)
    limit = pod_limits(pod, version).get("memory", ZERO).value() if limited else 0
    high, formula = pod_memory_high_rule(request, limit, factor, version)

    def inputs() -> Inputs:
        both = {**_inputs(pod, "requests", "memory"), **_inputs(pod, "limits", "memory")}
        return {**both, "memoryThrottlingFactor": str(factor)}

    return Ruled(high, Reason(formula, _MEMORY_HIGH, inputs))


def _declares(pod: Pod, qos: QosClass, name: Literal["cpu", "memory"], version: KubeletVersion) -> bool:
    """Does the pod declare the limit? Each init container counts together with the sidecars before it."""
    if qos == "Guaranteed" or not pod.limits.get(name, ZERO).is_zero():
        return True
    every = [c.limits for c in pod.containers]
    if version.at_least(23):
        every += [step for _, _, step in starting_steps(pod, [c.limits for c in pod.init_containers])]
    return all(not limits.get(name, ZERO).is_zero() for limits in every)


def _huge_pages(pod: Pod, requests: Resources, version: KubeletVersion) -> dict[int, int]:
    return hugepage_limits(requests if version.at_least(23) else summed(c.requests for c in pod.containers))


def _pids(node: NodeConfig) -> Ruled[int | None]:
    pids = written_pids(node.pod_pids_limit, node.version)
    why = f"podPidsLimit = {pids} tasks" if pids is not None else "podPidsLimit is not set"
    given = node.pod_pids_limit if node.pod_pids_limit is not None else -1
    return Ruled(pids, Reason(why, _PIDS, lambda: dict([setting("podPidsLimit", given)])))


def _inputs(pod: Pod, kind: Literal["requests", "limits"], name: str) -> Inputs:
    """The fields of the pod's containers, of spec.resources and of the overhead for a resource."""
    inputs: Inputs = {}
    for container in pod.all_containers:
        inputs |= amounts(
            f"{container.name} {kind}", container.limits if kind == "limits" else container.requests, name
        )
    inputs |= amounts(f"spec.resources.{kind}", pod.limits if kind == "limits" else pod.requests, name)
    inputs |= amounts("spec.overhead", pod.overhead, name)
    return inputs


def _quota_inputs(pod: Pod, cfs: CfsQuota) -> Inputs:
    return {**_inputs(pod, "limits", "cpu"), **quota_inputs(cfs)}


def _protection_inputs(pod: Pod, node: NodeConfig) -> Inputs:
    return {**_inputs(pod, "requests", "memory"), "memoryReservationPolicy": node.memory_reservation_policy}
