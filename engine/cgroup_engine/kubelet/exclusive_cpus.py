"""Which containers have CPUs of their own under the static CPU manager policy.

Source: ``pkg/kubelet/cm/cpumanager/policy_static.go`` (guaranteedCPUs). Which CPUs these are is not known here: they
depend on the order in which pods came to the node.
"""

from __future__ import annotations

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resources import pod_level_set
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO

NO_QUOTA = "DisableCPUQuotaWithExclusiveCPUs: the static CPU manager gives CPUs of their own"


def disables_quota(node: NodeConfig) -> bool:
    """Have containers with CPUs of their own no quota on this node?"""
    return node.cpu_manager_policy == "static" and node.version.enabled("DisableCPUQuotaWithExclusiveCPUs")


def has_exclusive_cpus(container: Container, pod: Pod, qos: QosClass) -> bool:
    """Is a whole number of CPUs asked for, in a Guaranteed pod without spec.resources?"""
    cpu = container.requests.get("cpu", ZERO)
    whole = cpu.sign() > 0 and cpu.nano % 10**9 == 0
    return qos == "Guaranteed" and whole and not pod_level_set(pod)


def any_exclusive_cpus(pod: Pod, qos: QosClass) -> bool:
    """Has any container of the pod such CPUs, init containers too (PodHasExclusiveCPUs)?"""
    return any(has_exclusive_cpus(container, pod, qos) for container in pod.all_containers)
