"""The CPUs and NUMA nodes of containers under the static CPU and memory manager policies (cpuset).

Source: PreCreateContainer of ``pkg/kubelet/cm/internal_container_lifecycle_linux.go``, with GetCPUAffinity of
``pkg/kubelet/cm/cpumanager/cpu_manager.go`` and GetMemoryNUMANodes of
``pkg/kubelet/cm/memorymanager/memory_manager.go``. The runtime writes them to the containers' cgroups. No pod's or QoS
class's cgroup has a list.
"""

from __future__ import annotations

from cgroup_engine.kubelet.exclusive_cpus import has_exclusive_cpus
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.reason import CM, Citation, Reason, Ruled

_SOURCE = Citation("PreCreateContainer", f"{CM}/internal_container_lifecycle_linux.go")


def assigned_cpus(node: NodeConfig, pod: Pod, container: Container, qos: QosClass) -> Ruled[str | None]:
    """The list of CPUs of a container; None if the state is not known, or does not have the container yet."""
    state = node.cpu_manager_state
    if state is None or node.cpu_manager_policy != "static":
        return Ruled(None, Reason("", _SOURCE))
    given = state.assigned(pod.uid, container.name, container.id)
    if given is None and not has_exclusive_cpus(container, pod, qos, node):
        given, what = state.shared or None, "the shared ones (defaultCpuSet)"
    elif pod.uid in state.pods and not has_exclusive_cpus(container, pod, qos, node):
        what = f"those that its pod's containers share, of the pod's {state.pods[pod.uid]}"
    else:
        what = "its own"
    why = f"GetCPUAffinity: CPUs {given}, {what}"
    return Ruled(given, Reason(why, _SOURCE, lambda: {"cpu_manager_state": str(given)}))


def assigned_nodes(node: NodeConfig, pod: Pod, container: Container) -> Ruled[str | None]:
    """The list of NUMA nodes of a container; None if it may use all, or the state is not known."""
    state = node.memory_manager_state
    known = state is not None and node.memory_manager_policy == "Static"
    given = ",".join(map(str, state.of(pod.uid, container.name))) if state is not None and known else ""
    why = f"GetMemoryNUMANodes: nodes {given}"
    return Ruled(given or None, Reason(why, _SOURCE, lambda: {"memory_manager_state": given}))


def unassigned_note(node: NodeConfig, pod: Pod) -> str:
    """One line about containers that get CPUs of their own, and are not in the state; "" without any.

    A kubelet chooses their CPUs when it admits the pod.
    """
    state = node.cpu_manager_state
    if state is None or node.cpu_manager_policy != "static" or pod.ended:
        return ""
    qos = qos_class(pod, node.version)
    names = [
        container.name
        for container in pod.long_running
        if has_exclusive_cpus(container, pod, qos, node)
        and state.assigned(pod.uid, container.name, container.id) is None
    ]
    if not names:
        return ""
    return f"{', '.join(names)}: not in the CPU manager's state; the kubelet chooses its CPUs when it admits the pod"
