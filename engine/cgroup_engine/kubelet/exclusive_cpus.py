"""The containers that the static CPU manager policy gives CPUs of their own.

Source: ``pkg/kubelet/cm/cpumanager/policy_static.go`` (guaranteedCPUs, Allocate, AllocatePod), PodHasExclusiveCPUs and
ContainerHasExclusiveCPUs of ``pkg/kubelet/cm/container_manager_linux.go``. Which CPUs these are depends on the order in
which pods came to the node: the kubelet's state file tells (``assigned_cpus``).
"""

from __future__ import annotations

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resources import pod_level_set
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.quantity import ZERO

NO_QUOTA = "DisableCPUQuotaWithExclusiveCPUs: the static CPU manager gives CPUs of their own"


def disables_quota(node: NodeConfig) -> bool:
    """Does this node take the quota from containers with CPUs of their own (DisableCPUQuotaWithExclusiveCPUs)?"""
    return node.cpu_manager_policy == "static" and node.version.enabled("DisableCPUQuotaWithExclusiveCPUs")


def manages_pods(node: NodeConfig) -> bool:
    """Do the managers give resources to pods with spec.resources (1.36, gate PodLevelResourceManagers)?"""
    return node.version.enabled("PodLevelResourceManagers") and node.version.enabled("PodLevelResources")


def has_exclusive_cpus(container: Container, pod: Pod, qos: QosClass, node: NodeConfig) -> bool:
    """Does the container request a whole number of CPUs, in a Guaranteed pod?

    In a pod with spec.resources no container has CPUs of its own without the gate PodLevelResourceManagers. With it,
    the container's CPU and memory limits must equal its requests. With the topology manager's scope pod the pod must
    request a whole number of CPUs too.
    """
    if qos != "Guaranteed" or not _whole_cpus(container.requests):
        return False
    if not pod_level_set(pod):
        return True
    alike = all(_alike(container, name) for name in ("cpu", "memory"))
    return manages_pods(node) and alike and (node.topology_manager_scope == "container" or _whole_cpus(pod.requests))


def pod_has_exclusive_cpus(pod: Pod, qos: QosClass, node: NodeConfig) -> bool:
    """Has any container of the pod CPUs of its own, init containers included (PodHasExclusiveCPUs)?

    With the gate PodLevelResourceManagers: in a pod with spec.resources, has every container?
    """
    each = [has_exclusive_cpus(container, pod, qos, node) for container in pod.all_containers]
    return all(each) if manages_pods(node) and pod_level_set(pod) else any(each)


def _whole_cpus(requests: Resources) -> bool:
    cpu = requests.get("cpu", ZERO)
    return cpu.sign() > 0 and cpu.nano % 10**9 == 0


def _alike(container: Container, name: str) -> bool:
    """IsContainerEquivalentQOSGuaranteed: is the limit the request, above zero?"""
    request, limit = container.requests.get(name, ZERO), container.limits.get(name, ZERO)
    return not request.is_zero() and request.nano == limit.nano
