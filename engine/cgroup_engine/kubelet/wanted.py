"""The wanted tree: the cgroups of a node with their values, and the reason of each value.

Pure: node configuration and pods in, cgroups out, parents before children. v1 and v2 files are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cgroup_engine.kubelet.allocation import other_resources
from cgroup_engine.kubelet.class_values import values_of_class
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.node_values import Reserved, values_of_node, values_of_reserved
from cgroup_engine.kubelet.pod_cgroups import pod_cgroups
from cgroup_engine.kubelet.qos_cgroups import RequestSums, request_sums
from cgroup_engine.model.names import (
    CgroupName,
    Driver,
    QosClass,
    components,
    kubepods_name,
    misplaced_parent,
    qos_name,
)
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup


def wanted_tree(node: NodeConfig, pods: Sequence[Pod]) -> tuple[WantedCgroup, ...]:
    """All cgroups of a node with these pods, parents before children. Pods that have ended have none.

    :raises UnsafeNameError: a name cannot become a directory.
    """
    pods = [pod for pod in pods if not pod.ended]  # filterOutInactivePods
    sums = request_sums(pods, node.version)
    kubepods = kubepods_name(node.cgroup_root)
    path = components(kubepods, node.driver)
    cgroups = [WantedCgroup("/".join(path[: n + 1]), "root", "cgroupRoot") for n in range(len(path) - 1)]
    cgroups.append(WantedCgroup("/".join(path), "node", "node", *values_of_node(node, sums, pods)))
    for qos in ("Burstable", "BestEffort"):
        cgroups.append(_qos_cgroup(node, sums, qos, pods))
    if node.misplaced:
        place = misplaced_parent(node.cgroup_version)
        cgroups += [WantedCgroup("/".join(place[: n + 1]), "runtime", "containerd") for n in range(len(place))]
    for pod in pods:
        cgroups += _pod_cgroups(node, pod)
    cgroups = _with_reserved(cgroups, _reserved_cgroups(node))
    cgroups += _system_cgroups(node, {cgroup.path for cgroup in cgroups})
    return tuple(cgroups)


def _pod_cgroups(node: NodeConfig, pod: Pod) -> Iterable[WantedCgroup]:
    """A pod's cgroups; those of one that is resized with the other values that they may have."""
    other = other_resources(pod, node.version)
    if other is None:
        return pod_cgroups(node, pod)
    also = {cgroup.path: cgroup.limits for cgroup in pod_cgroups(node, other)}
    return [replace(cgroup, also=also.get(cgroup.path)) for cgroup in pod_cgroups(node, pod)]


def _system_cgroups(node: NodeConfig, others: set[str]) -> Iterable[WantedCgroup]:
    """systemCgroups and kubeletCgroups with their ancestors, unless these are among the ``others``."""
    for name, owner in ((node.system_cgroups, "systemCgroups"), (node.kubelet_cgroups, "kubeletCgroups")):
        for n in range(len(name)):
            path = "/".join(name[: n + 1])
            if path not in others:
                others.add(path)
                yield WantedCgroup(path, "system", owner)


def reserved_paths(node: NodeConfig) -> dict[str, str]:
    """The reserved cgroups that are enforced: field of the configuration -> path."""
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
    whats: tuple[tuple[Reserved, str, str], ...] = (
        ("systemReserved", "systemReservedCgroup", "system-reserved"),
        ("kubeReserved", "kubeReservedCgroup", "kube-reserved"),
    )
    paths = reserved_paths(node)
    for what, field_name, key in whats:
        if field_name in paths:
            values = values_of_reserved(node, what, compressible_only=key not in node.enforce)
            yield WantedCgroup(paths[field_name], "reserved", what, *values)


def _with_reserved(others: Sequence[WantedCgroup], reserved: Iterable[WantedCgroup]) -> list[WantedCgroup]:
    """The reserved cgroups come first. Those below cgroupRoot come after it: it gives them files on v2, CPUs on v1."""

    place = {cgroup.path: number for number, cgroup in enumerate(others)}

    def order(cgroup: WantedCgroup) -> tuple[int, int]:
        if cgroup.level != "reserved":
            return place[cgroup.path], 0
        above = (number for path, number in place.items() if cgroup.path.startswith(f"{path}/"))
        return max(above, default=-1), 1 + cgroup.path.count("/")

    return sorted([*reserved, *others], key=order)


def _qos_cgroup(node: NodeConfig, sums: RequestSums, qos: QosClass, pods: Sequence[Pod]) -> WantedCgroup:
    path = _path(qos_name(node.cgroup_root, qos), node.driver)
    return WantedCgroup(path, "qos", qos, *values_of_class(node, sums, qos, pods), qos)


def _path(name: CgroupName, driver: Driver) -> str:
    return "/".join(components(name, driver))
