"""The cgroups of a pod and of its containers, with the reason of each value."""

from __future__ import annotations

from collections.abc import Iterator

from cgroup_engine.kubelet.container_values import values_of_container
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.pod_values import values_of_pod
from cgroup_engine.kubelet.qos import oom_score, qos_class
from cgroup_engine.kubelet.shares import MIN_SHARES
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import (
    QosClass,
    components,
    container_directory,
    invented_container_id,
    misplaced_container,
    pod_name,
)
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.reason import SYSTEMD, THE_RUNTIME, Reason
from cgroup_engine.model.wanted_cgroup import Reasons, WantedCgroup

SANDBOX = "POD"  # no container can have a name with capital letters
SANDBOX_OOM_SCORE_ADJ = -998
_SANDBOX_REASONS = {
    "shares": Reason("the runtime: a sandbox has 2 shares", THE_RUNTIME),
    "oom_score_adj": Reason("the runtime: a sandbox has -998", THE_RUNTIME),
}


def pod_cgroups(node: NodeConfig, pod: Pod) -> Iterator[WantedCgroup]:
    """The pod's cgroup and then those of its containers."""
    qos = qos_class(pod, node.version)
    path = "/".join(components(pod_name(node.cgroup_root, qos, pod.uid), node.driver))
    yield WantedCgroup(path, "pod", str(pod), *values_of_pod(node, pod, qos), qos, pod)
    if node.sandboxes:
        yield _sandbox(node, pod, qos)
    for container in pod.with_cgroup:
        limits, reasons = values_of_container(node, pod, container, qos)
        score = oom_score(pod, container, node.memory, node.version, qos)
        yield WantedCgroup(
            _container_path(node, pod, container, qos),
            "container",
            f"{pod}/{container.name}",
            limits,
            {**reasons, **_tasks_reason(node), "oom_score_adj": score.reason},
            qos,
            pod,
            container,
            score.value,
        )


def _tasks_reason(node: NodeConfig) -> Reasons:
    if node.scope_tasks is None:
        return {}
    if node.default_tasks_max is not None:
        tasks = f"{node.scope_tasks} tasks" if node.scope_tasks > -1 else "no limit"
        return {"pids": Reason(f"systemd: DefaultTasksMax of a scope on this machine = {tasks}", SYSTEMD)}
    why = f"systemd: DefaultTasksMax of a scope = 15% of {node.max_pids} tasks = {node.scope_tasks} tasks"
    return {"pids": Reason(why, SYSTEMD)}


def _container_path(node: NodeConfig, pod: Pod, container: Container, qos: QosClass) -> str:
    name = pod_name(node.cgroup_root, qos, pod.uid)
    container_id = container.id or invented_container_id(pod.uid, container.name)
    if node.misplaced:
        return "/".join(misplaced_container(name, container_id, node.cgroup_version))
    return "/".join((*components(name, node.driver), container_directory(container_id, node.driver, node.runtime)))


def _sandbox(node: NodeConfig, pod: Pod, qos: QosClass) -> WantedCgroup:
    """The cgroup of the pod's sandbox, where the pause process idles.

    The kubelet does not choose its values: containerd and CRI-O give it 2 shares and an oom_score_adj of -998.
    """
    sandbox = Container(SANDBOX)
    weight = node.cpu_weight(MIN_SHARES, "container")
    return WantedCgroup(
        _container_path(node, pod, sandbox, qos),
        "container",
        f"{pod} sandbox",
        CgroupLimits(shares=MIN_SHARES, weight=weight.value, pids=node.scope_tasks),
        {**_SANDBOX_REASONS, **_tasks_reason(node), "weight": weight.reason},
        qos,
        pod,
        sandbox,
        SANDBOX_OOM_SCORE_ADJ,
    )
