"""The wanted tree: which cgroups there should be, with which values, and the rule behind each value.

Pure: node configuration and pods in, cgroups out, parents before children. Nothing here knows of v1 or v2 files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cgroup_engine.kubelet.allocatable import node_limits, reserved_limits
from cgroup_engine.kubelet.cpu_weight import formula_of, weight
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.pod_cgroups import pod_cgroups
from cgroup_engine.kubelet.qos_cgroups import RequestSums, qos_limits, request_sums
from cgroup_engine.kubelet.shares import MIN_SHARES
from cgroup_engine.model.hugepages import resource_of_page_size
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import (
    CgroupName,
    Driver,
    QosClass,
    components,
    kubepods_name,
    misplaced_parent,
    qos_name,
)
from cgroup_engine.model.pod import Pod, Resources
from cgroup_engine.model.wanted_cgroup import Field, WantedCgroup, shares_rule, written


def wanted_tree(node: NodeConfig, pods: Sequence[Pod]) -> tuple[WantedCgroup, ...]:
    """All cgroups of a node with these pods, parents before children; pods that have ended have none.

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
    if node.misplaced:
        place = misplaced_parent(node.cgroup_version)
        cgroups += [WantedCgroup("/".join(place[: n + 1]), "runtime", "containerd") for n in range(len(place))]
    for pod in pods:
        cgroups += pod_cgroups(node, pod)
    cgroups = _with_reserved(cgroups, _reserved_cgroups(node))
    cgroups += _system_cgroups(node, {cgroup.path for cgroup in cgroups})
    return tuple(_weighted(node, cgroup) for cgroup in cgroups)


def _system_cgroups(node: NodeConfig, others: set[str]) -> Iterable[WantedCgroup]:
    """systemCgroups and kubeletCgroups with what is above them, as far as it is not among the ``others``."""
    for name, owner in ((node.system_cgroups, "systemCgroups"), (node.kubelet_cgroups, "kubeletCgroups")):
        for n in range(len(name)):
            path = "/".join(name[: n + 1])
            if path not in others:
                others.add(path)
                yield WantedCgroup(path, "system", owner)


def _weighted(node: NodeConfig, cgroup: WantedCgroup) -> WantedCgroup:
    """A cgroup with its cpu.weight by the formula of its level."""
    shares = cgroup.limits.shares
    if cgroup.level in ("root", "system", "runtime") or shares is None:
        return cgroup
    formula = formula_of(cgroup.level, node.weight_formulas, node.version, node.runtime)
    return replace(cgroup, limits=replace(cgroup.limits, weight=weight(shares, formula)))


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
        limits = replace(written(limits, node.version), cpus=node.all_cpus)
        rules = {**_node_rules(amounts, limits, what), **_cpus_rule(node)}
        if limits.memory_min is not None:
            rules["memory_min"] = f"enforceExistingCgroup: MemoryQoS protects {what} memory = {limits.memory_min} bytes"
        for page in limits.hugepages:
            rules[resource_of_page_size(page)] = "maybeSetHugetlb: nothing can be reserved of huge pages"
        yield WantedCgroup(path, "reserved", what, limits, rules)


def _with_reserved(others: Sequence[WantedCgroup], reserved: Iterable[WantedCgroup]) -> list[WantedCgroup]:
    """The reserved cgroups first, but those below cgroupRoot behind it: it gives them their files on v2, CPUs on v1."""

    place = {cgroup.path: number for number, cgroup in enumerate(others)}

    def order(cgroup: WantedCgroup) -> tuple[int, int]:
        if cgroup.level != "reserved":
            return place[cgroup.path], 0
        above = (number for path, number in place.items() if cgroup.path.startswith(f"{path}/"))
        return max(above, default=-1), 1 + cgroup.path.count("/")

    return sorted([*reserved, *others], key=order)


def _node_cgroup(node: NodeConfig, sums: RequestSums, path: str) -> WantedCgroup:
    """kubepods: the limits of node allocatable, with what the QoS manager writes over them."""
    amounts = node.allocatable if "pods" in node.enforce else node.capacity
    limits = node_limits(amounts)
    what = "allocatable" if "pods" in node.enforce else "capacity (pods not in enforceNodeAllocatable)"
    rules = _node_rules(amounts, written(limits, node.version), what)
    of_qos = _limits_of_class("Guaranteed", sums, node)
    limits = replace(limits, hugepages=of_qos.hugepages, memory_min=of_qos.memory_min, memory_low=of_qos.memory_low)
    rules |= {**_class_rules(of_qos, "Guaranteed and Burstable"), **_cpus_rule(node)}
    limits = replace(written(limits, node.version), cpus=node.all_cpus)
    return WantedCgroup(path, "node", "node", limits, rules)


def _cpus_rule(node: NodeConfig) -> dict[Field, str]:
    return {} if node.all_cpus is None else {"cpus": "getCgroupConfig: without a CPU manager, all CPUs of the node"}


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
        rules["shares"] = shares_rule(f"{what} cpu", amounts["cpu"].milli_value(), limits.shares)
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
        rules["shares"] = shares_rule(what, sums.milli_cpu[qos], limits.shares)
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
            rules["memory"] += ", which the kernel refuses; retrySetMemoryReserve: what is in use is the limit then"
    limits = written(limits, node.version)
    return WantedCgroup(_path(qos_name(node.cgroup_root, qos), node.driver), "qos", qos, limits, rules, qos)


def _path(name: CgroupName, driver: Driver) -> str:
    return "/".join(components(name, driver))
