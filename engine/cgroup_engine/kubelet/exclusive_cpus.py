"""The containers that the static CPU manager policy gives CPUs of their own.

Source: ``pkg/kubelet/cm/cpumanager/policy_static.go`` (guaranteedCPUs). The engine does not know which CPUs: that
depends on the order in which pods came to the node.
"""

from __future__ import annotations

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resources import pod_level_set
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO

NO_QUOTA = "DisableCPUQuotaWithExclusiveCPUs: the static CPU manager gives CPUs of their own"


def disables_quota(node: NodeConfig) -> bool:
    """Does this node take the quota from containers with CPUs of their own (DisableCPUQuotaWithExclusiveCPUs)?"""
    return node.cpu_manager_policy == "static" and node.version.enabled("DisableCPUQuotaWithExclusiveCPUs")


def has_exclusive_cpus(container: Container, pod: Pod, qos: QosClass) -> bool:
    """Does the container request a whole number of CPUs, in a Guaranteed pod without spec.resources?"""
    cpu = container.requests.get("cpu", ZERO)
    whole = cpu.sign() > 0 and cpu.nano % 10**9 == 0
    return qos == "Guaranteed" and whole and not pod_level_set(pod)


def any_exclusive_cpus(pod: Pod, qos: QosClass) -> bool:
    """Has any container of the pod exclusive CPUs, init containers included (PodHasExclusiveCPUs)?"""
    return any(has_exclusive_cpus(container, pod, qos) for container in pod.all_containers)
