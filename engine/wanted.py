"""The wanted tree: which cgroups there should be, with which values, and the rule behind each value.

Pure: node configuration and pods in, cgroups out, parents before children. Nothing here knows of v1 or v2 files.

Not part of the tree yet: cpuset, and the sandbox's cgroup, which is the runtime's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from engine.allocatable import node_limits, reserved_limits
from engine.config import NodeConfig
from engine.errors import ConfigError
from engine.hugepages import resource_of_page_size
from engine.kubelet_version import KubeletVersion
from engine.names import (
    CgroupName,
    Driver,
    QosClass,
    components,
    container_directory,
    invented_container_id,
    kubepods_name,
    pod_name,
    qos_name,
)
from engine.pod import Container, Pod, Resources
from engine.qos import oom_score_adj, qos_class
from engine.qos_cgroups import RequestSums, qos_limits, request_sums
from engine.quantity import ZERO
from engine.resources import CfsQuota, CgroupLimits, limits_for_container, limits_for_pod, pod_limits, pod_requests
from engine.shares import MIN_SHARES, milli_to_shares

Level = Literal["root", "reserved", "system", "node", "qos", "pod", "container"]
# a value of CgroupLimits: "shares", "quota", "memory", ..., and "hugepages-2Mi" for one size of huge pages
Field = str


@dataclass(frozen=True)
class WantedCgroup:
    """One cgroup.

    ``path`` is below the cgroup root (v1: below each hierarchy). ``rules`` says where each value comes from. Of a
    ``reserved`` cgroup, which the operator makes, only the values that are set are managed; of a ``root`` cgroup
    (cgroupRoot and what is above it) and of a ``system`` one (systemCgroups, kubeletCgroups) none. Everywhere else a
    value that is not set is the kernel's default.
    """

    path: str
    level: Level
    owner: str
    limits: CgroupLimits = field(default_factory=CgroupLimits)
    rules: Mapping[Field, str] = field(default_factory=dict)
    qos: QosClass | None = None
    pod: Pod | None = None
    container: Container | None = None
    oom_score_adj: int | None = None

    @property
    def parent(self) -> str:
        """The path of the parent; "" is the root."""
        return self.path.rpartition("/")[0]


def wanted_tree(node: NodeConfig, pods: Sequence[Pod]) -> tuple[WantedCgroup, ...]:
    """All cgroups of a node with these pods, parents before children; pods that have ended have none.

    :raises ConfigError: qosReserved leaves less than nothing for a QoS class.
    :raises UnsafeNameError: a name cannot become a directory.
    """
    pods = [pod for pod in pods if not pod.ended]  # filterOutInactivePods
    sums = request_sums(pods, node.version)
    kubepods = kubepods_name(node.cgroup_root)
    path = components(kubepods, node.driver)
    cgroups = [WantedCgroup("/".join(path[: n + 1]), "root", "cgroupRoot") for n in range(len(path) - 1)]
    cgroups.append(_node_cgroup(node, sums, "/".join(path)))
    for qos in ("Burstable", "BestEffort"):
        cgroups.append(_qos_cgroup(node, sums, qos))
    for pod in pods:
        cgroups += _pod_cgroups(node, pod)
    cgroups = [*_reserved_cgroups(node), *cgroups]
    return (*cgroups, *_system_cgroups(node, {cgroup.path for cgroup in cgroups}))


def _system_cgroups(node: NodeConfig, others: set[str]) -> Iterable[WantedCgroup]:
    """systemCgroups and kubeletCgroups with what is above them, as far as it is not among the ``others``."""
    for name, owner in ((node.system_cgroups, "systemCgroups"), (node.kubelet_cgroups, "kubeletCgroups")):
        for n in range(len(name)):
            path = "/".join(name[: n + 1])
            if path not in others:
                others.add(path)
                yield WantedCgroup(path, "system", owner)


def reserved_paths(node: NodeConfig) -> dict[str, str]:
    """The operator's cgroups that are enforced: field of the configuration -> path."""
    paths = {}
    for key, name in (
        ("system-reserved", node.system_reserved_cgroup),
        ("kube-reserved", node.kube_reserved_cgroup),
    ):
        if {key, f"{key}-compressible"} & node.enforce:
            field_name = "systemReservedCgroup" if key == "system-reserved" else "kubeReservedCgroup"
            paths[field_name] = _path(name, node.driver)
    return paths


def _reserved_cgroups(node: NodeConfig) -> Iterable[WantedCgroup]:
    for field_name, path in reserved_paths(node).items():
        key, amounts = (
            ("system-reserved", node.system_reserved)
            if field_name == "systemReservedCgroup"
            else ("kube-reserved", node.kube_reserved)
        )
        what = "systemReserved" if key == "system-reserved" else "kubeReserved"
        limits = reserved_limits(
            amounts,
            node.huge_pages,
            compressible_only=key not in node.enforce,
            memory_qos=node.version.enabled("MemoryQoS"),
        )
        limits = _written(limits, node.version)
        rules = _node_rules(amounts, limits, what)
        if limits.memory_min is not None:
            rules["memory_min"] = f"enforceExistingCgroup: MemoryQoS protects {what} memory = {limits.memory_min} bytes"
        for page in limits.hugepages:
            rules[resource_of_page_size(page)] = "maybeSetHugetlb: nothing can be reserved of huge pages"
        yield WantedCgroup(path, "reserved", what, limits, rules)


def _node_cgroup(node: NodeConfig, sums: RequestSums, path: str) -> WantedCgroup:
    """kubepods: the limits of node allocatable, with what the QoS manager writes over them."""
    amounts = node.allocatable if "pods" in node.enforce else node.capacity
    limits = node_limits(amounts)
    what = "allocatable" if "pods" in node.enforce else "capacity (pods not in enforceNodeAllocatable)"
    rules = _node_rules(amounts, _written(limits, node.version), what)
    of_qos = _limits_of_class("Guaranteed", sums, node)
    limits = replace(limits, hugepages=of_qos.hugepages, memory_min=of_qos.memory_min, memory_low=of_qos.memory_low)
    rules |= _class_rules(of_qos, "Guaranteed and Burstable")
    return WantedCgroup(path, "node", "node", _written(limits, node.version), rules)


def _limits_of_class(qos: QosClass, sums: RequestSums, node: NodeConfig) -> CgroupLimits:
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


def _class_rules(limits: CgroupLimits, classes: str) -> dict[Field, str]:
    """The rules of huge pages and of memory protection; ``classes``: whose memory requests count."""
    rules: dict[Field, str] = {
        resource_of_page_size(page): "setHugePagesUnbounded: the pods' own limits count" for page in limits.hugepages
    }
    for name, number in (("memory_min", limits.memory_min), ("memory_low", limits.memory_low)):
        if number is not None:
            rules[name] = f"setMemoryQoS: sum of the {classes} pods' memory requests = {number} bytes"
            if number == 0:
                rules[name] = "setMemoryQoS: nothing is protected"
    return rules


def _node_rules(amounts: Resources, limits: CgroupLimits, what: str) -> dict[Field, str]:
    rules: dict[Field, str] = {}
    if limits.shares is not None:
        rules["shares"] = _shares_rule(f"{what} cpu", amounts["cpu"].milli_value(), limits.shares)
    if limits.memory is not None:
        rules["memory"] = f"getCgroupConfig: {what} memory = {limits.memory} bytes"
    if limits.pids is not None:
        rules["pids"] = f"getCgroupConfig: {what} pid = {limits.pids} tasks"
    return rules


def _qos_cgroup(node: NodeConfig, sums: RequestSums, qos: QosClass) -> WantedCgroup:
    limits = _limits_of_class(qos, sums, node)
    rules = _class_rules(limits, "Burstable")
    if qos == "Burstable":
        what = "setCPUCgroupConfig: sum of the Burstable pods' cpu requests"
        rules["shares"] = _shares_rule(what, sums.milli_cpu[qos], limits.shares)
    else:
        rules["shares"] = f"setCPUCgroupConfig: BestEffort is always {MIN_SHARES} shares"
    if limits.memory is not None:
        memory = node.allocatable["memory"].value()
        above = "Guaranteed" if qos == "Burstable" else "Guaranteed and Burstable"
        rules["memory"] = (
            f"setMemoryReserve: allocatable {memory} bytes - {node.qos_reserved_memory}% of the {above} pods' memory "
            f"requests = {limits.memory} bytes"
        )
        if limits.memory == 0:
            rules["memory"] += ", which libcontainer takes for no limit"
        if limits.memory < 0:
            raise ConfigError(
                f"qosReserved.memory: {node.qos_reserved_memory}% of the {above} pods' memory requests is "
                f"{-limits.memory} bytes more than the node's allocatable memory of {memory} bytes",
                todo="give the node fewer pods or reserve less",
            )
    limits = _written(limits, node.version)
    return WantedCgroup(_path(qos_name(node.cgroup_root, qos), node.driver), "qos", qos, limits, rules, qos)


def _pod_cgroups(node: NodeConfig, pod: Pod) -> Iterable[WantedCgroup]:
    qos = qos_class(pod, node.version)
    limits = limits_for_pod(pod, qos, node.cfs, node.version)
    limits = _written(replace(limits, pids=node.pod_pids_limit), node.version)
    path = _path(pod_name(node.cgroup_root, qos, pod.uid), node.driver)
    yield WantedCgroup(path, "pod", str(pod), limits, _pod_rules(node, pod, qos, limits), qos, pod)
    for container in pod.with_cgroup:
        of_container = _written(limits_for_container(container, pod, node.cfs, node.version), node.version)
        container_id = container.id or invented_container_id(pod.uid, container.name)
        yield WantedCgroup(
            f"{path}/{container_directory(container_id, node.driver, node.runtime)}",
            "container",
            f"{pod}/{container.name}",
            of_container,
            _container_rules(node.cfs, container, of_container),
            qos,
            pod,
            container,
            oom_score_adj(pod, container, node.memory, node.version),
        )


def _pod_rules(node: NodeConfig, pod: Pod, qos: QosClass, limits: CgroupLimits) -> dict[Field, str]:
    requests, bounds = pod_requests(pod, node.version), pod_limits(pod, node.version)
    rules: dict[Field, str] = {}
    if qos == "BestEffort":
        rules["shares"] = f"ResourceConfigForPod: a BestEffort pod has {MIN_SHARES} shares"
        rules["quota"] = rules["memory"] = "ResourceConfigForPod: a BestEffort pod is not limited"
    else:
        milli = requests.get("cpu", ZERO).milli_value()
        rules["shares"] = _shares_rule("ResourceConfigForPod: PodRequests cpu", milli, limits.shares)
        undeclared = "ResourceConfigForPod: not every container declares a {} limit"
        if limits.quota_us is None:
            rules["quota"] = undeclared.format("cpu")
        elif not node.cfs.enforced:
            rules["quota"] = "cpuCFSQuota: false"
        else:
            milli = bounds.get("cpu", ZERO).milli_value()
            rules["quota"] = _quota_rule("ResourceConfigForPod: PodLimits cpu", milli, node.cfs, limits.quota_us)
        if limits.memory is None:
            rules["memory"] = undeclared.format("memory")
        else:
            rules["memory"] = f"ResourceConfigForPod: PodLimits memory = {limits.memory} bytes"
    rules["pids"] = f"podPidsLimit = {limits.pids} tasks" if limits.pids is not None else "podPidsLimit is not set"
    return rules


def _container_rules(cfs: CfsQuota, container: Container, limits: CgroupLimits) -> dict[Field, str]:
    what = "generateLinuxContainerResources"
    rules: dict[Field, str] = {}
    # the request, or what stood in for it; shares alone do not say which
    milli = container.requests["cpu"].milli_value() if "cpu" in container.requests else None
    if milli is not None and milli_to_shares(milli) == limits.shares:
        rules["shares"] = _shares_rule(f"{what}: request cpu", milli, limits.shares)
    elif limits.shares == MIN_SHARES:
        rules["shares"] = f"{what}: no cpu request, {MIN_SHARES} shares"
    else:
        rules["shares"] = f"{what}: no cpu request, the limit's {limits.shares} shares"
    if not cfs.enforced:
        rules["quota"] = "cpuCFSQuota: false"
    elif limits.quota_us:
        milli = container.limits["cpu"].milli_value() if "cpu" in container.limits else 0
        text = f"{what}: limit cpu" if milli else f"{what}: the pod's limit cpu"
        rules["quota"] = _quota_rule(text, milli or limits.quota_us * 1000 // cfs.period_us, cfs, limits.quota_us)
    else:
        rules["quota"] = f"{what}: no cpu limit"
    rules["memory"] = f"{what}: limit memory = {limits.memory} bytes" if limits.memory else f"{what}: no memory limit"
    return rules


def _shares_rule(what: str, milli: int, shares: int | None) -> str:
    raw = milli * 1024 // 1000
    bound = "" if raw == shares else f", bounded to {shares}"
    return f"{what}: MilliCPUToShares({milli}m) = {milli} × 1024 / 1000 = {raw} shares{bound}"


def _quota_rule(what: str, milli: int, cfs: CfsQuota, quota_us: int) -> str:
    raw = milli * cfs.period_us // 1000
    bound = "" if raw == quota_us else f", at least {quota_us} µs"
    return (
        f"{what}: MilliCPUToQuota({milli}m, {cfs.period_us} µs) = {milli} × {cfs.period_us} / 1000 = {raw} µs "
        f"per {cfs.period_us} µs{bound}"
    )


def _written(limits: CgroupLimits, version: KubeletVersion) -> CgroupLimits:
    """What libcontainer writes of a ResourceConfig: a zero is taken for "not set".

    But for pids: since kubelet 1.36 (opencontainers/cgroups 0.0.6) no tasks are written as one.
    """
    pids = 1 if limits.pids == 0 and version.at_least(36) else limits.pids or None
    return replace(limits, quota_us=limits.quota_us or None, memory=limits.memory or None, pids=pids)


def _path(name: CgroupName, driver: Driver) -> str:
    return "/".join(components(name, driver))
