"""The cgroups of a pod: its own, and those of its containers, with the rule behind each value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cgroup_engine.kubelet.exclusive_cpus import any_exclusive_cpus, has_exclusive_cpus
from cgroup_engine.kubelet.memory_qos import container_protection, memory_high, pod_protection
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import oom_score_adj, qos_class
from cgroup_engine.kubelet.resources import limits_for_container, limits_for_pod, pod_limits, pod_requests
from cgroup_engine.kubelet.shares import MIN_QUOTA_US, MIN_SHARES, milli_to_shares, systemd_quota
from cgroup_engine.kubelet.swap import NodeSwap, swap_limit
from cgroup_engine.model.hugepages import resource_of_page_size
from cgroup_engine.model.limits import DEFAULT_PERIOD_US, CfsQuota, CgroupLimits
from cgroup_engine.model.names import (
    QosClass,
    components,
    container_directory,
    invented_container_id,
    misplaced_container,
    pod_name,
)
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO
from cgroup_engine.model.wanted_cgroup import Field, WantedCgroup, shares_rule, written

SANDBOX = "POD"  # no container can have a name with capital letters
SANDBOX_OOM_SCORE_ADJ = -998
_NO_QUOTA = "DisableCPUQuotaWithExclusiveCPUs: the static CPU manager gives CPUs of their own"


def pod_cgroups(node: NodeConfig, pod: Pod) -> Iterator[WantedCgroup]:
    """The pod's cgroup and then those of its containers."""
    qos = qos_class(pod, node.version)
    path = "/".join(components(pod_name(node.cgroup_root, qos, pod.uid), node.driver))
    limits = written(values_of_pod(node, pod, qos), node.version)
    if node.driver == "systemd" and limits.quota_us is not None and limits.quota_us > 0:
        limits = replace(limits, quota_us=systemd_quota(limits.quota_us, limits.period_us or DEFAULT_PERIOD_US))
    yield WantedCgroup(path, "pod", str(pod), limits, _pod_rules(node, pod, qos, limits), qos, pod)
    if node.sandboxes:
        yield _sandbox(node, pod, qos)
    for container in pod.with_cgroup:
        of_container = written(values_of_container(node, pod, container, qos), node.version)
        yield WantedCgroup(
            _container_path(node, pod, container, qos),
            "container",
            f"{pod}/{container.name}",
            of_container,
            _container_rules(node, container, of_container),
            qos,
            pod,
            container,
            oom_score_adj(pod, container, node.memory, node.version),
        )


def _container_path(node: NodeConfig, pod: Pod, container: Container, qos: QosClass) -> str:
    name = pod_name(node.cgroup_root, qos, pod.uid)
    container_id = container.id or invented_container_id(pod.uid, container.name)
    if node.misplaced:
        return "/".join(misplaced_container(name, container_id, node.cgroup_version))
    return "/".join((*components(name, node.driver), container_directory(container_id, node.driver, node.runtime)))


def _sandbox(node: NodeConfig, pod: Pod, qos: QosClass) -> WantedCgroup:
    """The cgroup of the pod's sandbox, in which its first process idles.

    The kubelet says nothing of it; containerd and CRI-O give it 2 shares and an oom_score_adj of -998.
    """
    sandbox = Container(SANDBOX)
    rules = {"shares": "the runtime: a sandbox has 2 shares", "oom_score_adj": "the runtime: a sandbox has -998"}
    path, limits = _container_path(node, pod, sandbox, qos), CgroupLimits(shares=MIN_SHARES)
    return WantedCgroup(path, "container", f"{pod} sandbox", limits, rules, qos, pod, sandbox, SANDBOX_OOM_SCORE_ADJ)


def values_of_pod(node: NodeConfig, pod: Pod, qos: QosClass) -> CgroupLimits:
    """EnsureExists of ``pkg/kubelet/cm/pod_container_manager_linux.go``."""
    enforced = node.cfs.enforced and not (_pins(node) and any_exclusive_cpus(pod, qos))
    cfs = node.cfs if enforced == node.cfs.enforced else replace(node.cfs, enforced=enforced)
    limits = limits_for_pod(pod, qos, cfs, node.version)
    protected: tuple[int | None, int | None] = (None, None)
    if node.version.enabled("MemoryQoS"):
        request = pod_requests(pod, node.version).get("memory", ZERO).value()
        protected = pod_protection(request, qos, node.memory_reservation_policy, node.version)
    return replace(
        limits,
        pids=node.pod_pids_limit,
        hugepages=_all_page_sizes(limits, node.huge_pages),
        memory_min=protected[0],
        memory_low=protected[1],
    )


def values_of_container(node: NodeConfig, pod: Pod, container: Container, qos: QosClass) -> CgroupLimits:
    """generateLinuxContainerResources of ``pkg/kubelet/kuberuntime/kuberuntime_container_linux.go``."""
    limits = limits_for_container(container, pod, node.cfs, node.version)
    if node.cfs.enforced and _pins(node) and has_exclusive_cpus(container, pod, qos):
        limits = replace(limits, quota_us=-1)
    if node.version.enabled("MemoryQoS"):
        request = container.requests.get("memory", ZERO).value()
        limit, allocatable = container.limits.get("memory", ZERO).value(), node.allocatable["memory"].value()
        protected = container_protection(request, qos, node.memory_reservation_policy, node.version)
        high = memory_high(request, limit, allocatable, node.memory_throttling_factor, node.version)
        limits = replace(limits, memory_min=protected[0], memory_low=protected[1], memory_high=high)
    swap = NodeSwap(node.memory, node.swap, node.swap_behavior)
    return replace(
        limits,
        hugepages=_all_page_sizes(limits, node.huge_pages),
        swap=swap_limit(container, pod, qos, limits.memory or 0, swap, node.version),
        oom_group=None if node.single_process_oom_kill else True,
    )


def _all_page_sizes(limits: CgroupLimits, page_sizes: Iterable[int]) -> dict[int, int]:
    """Huge pages with a zero for each size of the node of which nothing was said (toResources)."""
    return {page: limits.hugepages.get(page, 0) for page in page_sizes}


def _pins(node: NodeConfig) -> bool:
    return node.cpu_manager_policy == "static" and node.version.enabled("DisableCPUQuotaWithExclusiveCPUs")


def _pod_rules(node: NodeConfig, pod: Pod, qos: QosClass, limits: CgroupLimits) -> dict[Field, str]:
    requests, bounds = pod_requests(pod, node.version), pod_limits(pod, node.version)
    rules: dict[Field, str] = {}
    if qos == "BestEffort":
        rules["shares"] = f"ResourceConfigForPod: a BestEffort pod has {MIN_SHARES} shares"
        rules["quota"] = rules["memory"] = "ResourceConfigForPod: a BestEffort pod is not limited"
    else:
        milli = requests.get("cpu", ZERO).milli_value()
        rules["shares"] = shares_rule("ResourceConfigForPod: PodRequests cpu", milli, limits.shares)
        undeclared = "ResourceConfigForPod: not every container declares a {} limit"
        if limits.quota_us is None:
            rules["quota"] = undeclared.format("cpu")
        elif limits.quota_us < 0:
            rules["quota"] = _NO_QUOTA if node.cfs.enforced else "cpuCFSQuota: false"
        else:
            milli = bounds.get("cpu", ZERO).milli_value()
            rules["quota"] = _quota_rule("ResourceConfigForPod: PodLimits cpu", milli, node.cfs, limits.quota_us)
        if limits.memory is None:
            rules["memory"] = undeclared.format("memory")
        else:
            rules["memory"] = f"ResourceConfigForPod: PodLimits memory = {limits.memory} bytes"
    rules["pids"] = f"podPidsLimit = {limits.pids} tasks" if limits.pids is not None else "podPidsLimit is not set"
    rules |= _hugepage_rules(limits, "HugePageLimits: PodRequests", "toResources: none are asked for")
    for name, number in (("memory_min", limits.memory_min), ("memory_low", limits.memory_low)):
        if number is not None:
            rules[name] = f"ResourceConfigForPod: MemoryQoS, PodRequests memory = {number} bytes"
    return rules


def _container_rules(node: NodeConfig, container: Container, limits: CgroupLimits) -> dict[Field, str]:
    what = "generateLinuxContainerResources"
    rules: dict[Field, str] = {}
    # the request, or what stood in for it; shares alone do not say which
    milli = container.requests["cpu"].milli_value() if "cpu" in container.requests else None
    if milli is not None and milli_to_shares(milli) == limits.shares:
        rules["shares"] = shares_rule(f"{what}: request cpu", milli, limits.shares)
    elif limits.shares == MIN_SHARES:
        rules["shares"] = f"{what}: no cpu request, {MIN_SHARES} shares"
    else:
        rules["shares"] = f"{what}: no cpu request, the limit's {limits.shares} shares"
    if not node.cfs.enforced:
        rules["quota"] = "cpuCFSQuota: false"
    elif limits.quota_us is not None and limits.quota_us < 0:
        rules["quota"] = _NO_QUOTA
    elif limits.quota_us:
        milli = container.limits["cpu"].milli_value() if "cpu" in container.limits else 0
        text = f"{what}: limit cpu" if milli else f"{what}: the pod's limit cpu"
        period_us = node.cfs.period_us
        rules["quota"] = _quota_rule(text, milli or limits.quota_us * 1000 // period_us, node.cfs, limits.quota_us)
    else:
        rules["quota"] = f"{what}: no cpu limit"
    rules["memory"] = f"{what}: limit memory = {limits.memory} bytes" if limits.memory else f"{what}: no memory limit"
    rules |= _hugepage_rules(
        limits, "GetHugepageLimitsFromResources: limits", "GetHugepageLimitsFromResources: no limit"
    )
    rules |= _unified_rules(node, container, limits)
    if limits.swap is not None:
        rules["memory_and_swap"] = f"{rules['memory']}, and with swap as much"
    return rules


def _hugepage_rules(limits: CgroupLimits, asked: str, none: str) -> dict[Field, str]:
    names = {resource_of_page_size(page): number for page, number in limits.hugepages.items()}
    return {name: f"{asked} {name} = {number} bytes" if number else none for name, number in names.items()}


def _unified_rules(node: NodeConfig, container: Container, limits: CgroupLimits) -> dict[Field, str]:
    """The rules of what cgroup v2 alone has, and of swap."""
    rules: dict[Field, str] = {}
    request = container.requests.get("memory", ZERO).value()
    for name, number in (("memory_min", limits.memory_min), ("memory_low", limits.memory_low)):
        if number is not None:
            rules[name] = f"MemoryQoS: request memory = {number} bytes" if number else "MemoryQoS: not protected"
    if limits.memory_high is not None:
        factor, most = node.memory_throttling_factor, container.limits.get("memory", ZERO).value()
        of = f"limit {most}" if most else f"the node's allocatable {node.allocatable['memory'].value()}"
        formula = (
            f"request {request} + {factor} × ({of} - request), rounded down to a page"
            if node.version.at_least(27)
            else f"{factor} × {of}"
        )
        rules["memory_high"] = f"MemoryQoS: {formula} = {limits.memory_high} bytes"
    if limits.swap is not None:
        rules["swap"] = f"swap: {node.swap_behavior} gives this container none"
        if limits.swap:
            rules["swap"] = (
                f"calcSwapForBurstablePods: request {request} / {node.memory} bytes of the node × {node.swap} bytes of "
                f"swap = {limits.swap} bytes"
            )
    if limits.oom_group:
        rules["oom_group"] = "singleProcessOOMKill: false"
        if not node.version.at_least(32):
            rules["oom_group"] = "calculateLinuxResources: always in 1.28 to 1.31"
    return rules


def _quota_rule(what: str, milli: int, cfs: CfsQuota, quota_us: int) -> str:
    raw = milli * cfs.period_us // 1000
    bound = "" if raw == quota_us else f", at least {quota_us} µs"
    if quota_us > max(raw, MIN_QUOTA_US):
        bound = f", for systemd rounded up to {quota_us} µs"
    return (
        f"{what}: MilliCPUToQuota({milli}m, {cfs.period_us} µs) = {milli} × {cfs.period_us} / 1000 = {raw} µs "
        f"per {cfs.period_us} µs{bound}"
    )
