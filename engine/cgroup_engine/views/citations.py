"""Where a value comes from: the kubelet's function, and what of pods and node goes into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.resources import pod_requests
from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.wanted_cgroup import Field, Level, WantedCgroup, is_sandbox

Inputs = dict[str, str]  # field of a pod or of the node's configuration -> what it says


@dataclass(frozen=True)
class Citation:
    """A function of the kubelet, named as in 1.36, and its file in kubernetes/kubernetes."""

    function: str
    file: str

    def __str__(self) -> str:
        return f"{self.function} ({self.file})" if self.file else self.function


_CM = "pkg/kubelet/cm"
_NODE = f"{_CM}/node_container_manager_linux.go"
_QOS = f"{_CM}/qos_container_manager_linux.go"
_POD = f"{_CM}/helpers_linux.go"
_CONTAINER = "pkg/kubelet/kuberuntime/kuberuntime_container_linux.go"
_THE_RUNTIME = Citation("the runtime", "")
QOS_CLASS = Citation("GetPodQOS", "pkg/apis/core/v1/helper/qos/qos.go")
OOM_SCORE_ADJ = Citation("GetContainerOOMScoreAdjust", "pkg/kubelet/qos/policy.go")

# "hugepages" stands for every size of them
_SOURCES: dict[Level, dict[str, Citation]] = {
    "node": {
        **dict.fromkeys(("shares", "memory", "pids", "cpus"), Citation("getCgroupConfig", _NODE)),
        **dict.fromkeys(("memory_min", "memory_low"), Citation("setMemoryQoS", _QOS)),
        "hugepages": Citation("setHugePagesUnbounded", _QOS),
    },
    "reserved": {
        **dict.fromkeys(("shares", "memory", "pids", "memory_min", "cpus"), Citation("enforceExistingCgroup", _NODE)),
        "hugepages": Citation("maybeSetHugetlb", f"{_CM}/cgroup_manager_linux.go"),
    },
    "qos": {
        "shares": Citation("setCPUCgroupConfig", _QOS),
        "memory": Citation("setMemoryReserve", _QOS),
        **dict.fromkeys(("memory_min", "memory_low"), Citation("setMemoryQoS", _QOS)),
        "hugepages": Citation("setHugePagesUnbounded", _QOS),
    },
    "pod": {
        **dict.fromkeys(
            ("shares", "quota", "memory", "memory_min", "memory_low"), Citation("ResourceConfigForPod", _POD)
        ),
        "pids": Citation("EnsureExists", f"{_CM}/pod_container_manager_linux.go"),
        "hugepages": Citation("HugePageLimits", _POD),
    },
    "container": {
        **dict.fromkeys(("shares", "quota", "oom_group"), Citation("calculateLinuxResources", _CONTAINER)),
        **dict.fromkeys(
            ("memory", "memory_min", "memory_low", "memory_high"),
            Citation("generateLinuxContainerResources", _CONTAINER),
        ),
        "swap": Citation("configureContainerSwapResources", _CONTAINER),
        "hugepages": Citation("GetHugepageLimitsFromResources", _CONTAINER),
    },
}


def citation(cgroup: WantedCgroup, field: Field) -> Citation:
    """The function that makes a value of a cgroup."""
    if is_sandbox(cgroup):
        return _THE_RUNTIME
    return _SOURCES[cgroup.level]["hugepages" if field.startswith(PREFIX) else field]


def inputs_of(cgroup: WantedCgroup, field: Field, node: NodeConfig, pods: Sequence[Pod]) -> Inputs:
    """What goes into a value of a cgroup, as far as it is there; ``pods``: all of the node."""
    if is_sandbox(cgroup):
        return {}
    if cgroup.container is not None and cgroup.pod is not None:
        return {**_of_container(cgroup.container, cgroup.pod, field), **_of_node(field, node, "container")}
    if cgroup.pod is not None:
        return {**_of_pod(cgroup.pod, field), **_of_node(field, node, "pod")}
    if cgroup.level == "qos" or field in ("memory_min", "memory_low"):
        return dict(_of_class(cgroup, field, node, pods))
    return dict(_of_amounts(cgroup, field, node))


def inputs_of_oom_score(container: Container, node: NodeConfig) -> Inputs:
    """What goes into an oom_score_adj besides the QoS class."""
    return {**dict(_amounts("requests", container.requests, "memory")), "node's memory": str(node.capacity["memory"])}


def _resource(field: Field) -> str:
    return field if field.startswith(PREFIX) else "cpu" if field in ("shares", "quota") else "memory"


def _of_container(container: Container, pod: Pod, field: Field) -> Inputs:
    if field == "oom_group":
        return {}
    name, inputs = _resource(field), dict[str, str]()
    if field not in ("quota", "memory"):
        inputs |= _amounts("requests", container.requests, name)
    if field in ("shares", "quota", "memory", "memory_high", "swap") or field.startswith(PREFIX):
        inputs |= _amounts("limits", container.limits, name)
        inputs |= _amounts("spec.resources.limits", pod.limits, name)
    return inputs


def _of_pod(pod: Pod, field: Field) -> Inputs:
    if field == "pids":
        return {}
    name, inputs = _resource(field), dict[str, str]()
    kind = "limits" if field in ("quota", "memory") else "requests"
    for container in pod.all_containers:
        amounts = container.limits if kind == "limits" else container.requests
        inputs |= _amounts(f"{container.name} {kind}", amounts, name)
    inputs |= _amounts(f"spec.resources.{kind}", pod.limits if kind == "limits" else pod.requests, name)
    inputs |= _amounts("spec.overhead", pod.overhead, name)
    return inputs


def _amounts(what: str, amounts: Resources, name: str) -> Inputs:
    return {f"{what}.{name}": str(amounts[name])} if name in amounts else {}


def _of_node(field: Field, node: NodeConfig, level: Level) -> Inputs:
    """The settings of the node that count for pods and containers."""
    settings: Mapping[str, Mapping[str, object]] = {
        "quota": {"cpuCFSQuota": node.cfs.enforced, "cpuCFSQuotaPeriod": f"{node.cfs.period_us}us"},
        "pids": {"podPidsLimit": node.pod_pids_limit if node.pod_pids_limit is not None else -1},
        "memory_min": {"memoryReservationPolicy": node.memory_reservation_policy},
        "memory_low": {"memoryReservationPolicy": node.memory_reservation_policy},
        "memory_high": {"memoryThrottlingFactor": node.memory_throttling_factor},
        "swap": {"swapBehavior": node.swap_behavior, "node's memory": node.memory, "node's swap": node.swap},
        "oom_group": {"singleProcessOOMKill": bool(node.single_process_oom_kill)},
    }
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in
            settings.get(field, {}).items()}  # fmt: skip


def _of_class(cgroup: WantedCgroup, field: Field, node: NodeConfig, pods: Sequence[Pod]) -> Iterator[tuple[str, str]]:
    """The requests that are added up for a QoS class, and for the protection of kubepods."""
    if field.startswith(PREFIX) or (field == "shares" and cgroup.qos == "BestEffort"):
        return
    if field == "memory":
        yield "allocatable memory", str(node.allocatable["memory"])
        yield "qosReserved.memory", f"{node.qos_reserved_memory}%"
    classes = {"Burstable"} if field == "shares" or cgroup.qos == "Burstable" else {"Guaranteed", "Burstable"}
    if field == "memory" and cgroup.qos == "Burstable":
        classes = {"Guaranteed"}
    name = _resource(field)
    for pod in pods:
        if not pod.ended and qos_class(pod, node.version) in classes:
            yield from _amounts(f"{pod} requests", pod_requests(pod, node.version), name).items()


def _of_amounts(cgroup: WantedCgroup, field: Field, node: NodeConfig) -> Iterator[tuple[str, str]]:
    """What node allocatable is made of."""
    name = {"shares": "cpu", "pids": "pid"}.get(field, "memory")
    if field == "cpus":
        yield "the node's CPUs", str(node.cpu_list)
    if field == "cpus" or field.startswith(PREFIX):
        return
    amounts = {"kubeReserved": node.kube_reserved, "systemReserved": node.system_reserved}
    if cgroup.level == "node":
        yield f"capacity.{name}", str(node.capacity[name])
        amounts = amounts if "pods" in node.enforce else {}
    else:
        amounts = {cgroup.owner: amounts[cgroup.owner]}
    for what, reserved in amounts.items():
        yield from _amounts(what, reserved, name).items()
