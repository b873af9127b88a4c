"""A pod's QoS class and the oom_score_adj of its containers.

Sources: ``pkg/apis/core/v1/helper/qos`` (GetPodQOS), ``pkg/kubelet/qos/policy.go`` (GetContainerOOMScoreAdjust).
"""

from __future__ import annotations

from collections.abc import Mapping

from cgroup_engine.kubelet.resources import aggregate_requests, pod_level_set
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.quantity import Quantity, from_bytes, wrapped
from cgroup_engine.model.reason import Citation, Inputs, Reason, Ruled, amounts

_COUNTED = ("cpu", "memory")
GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000
_QOS_CLASS = Citation("GetPodQOS", "pkg/apis/core/v1/helper/qos/qos.go")
_OOM_SCORE_ADJ = Citation("GetContainerOOMScoreAdjust", "pkg/kubelet/qos/policy.go")
_SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
_SOURCE_ANNOTATION = "kubernetes.io/config.source"
_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


def qos_class(pod: Pod, version: KubeletVersion) -> QosClass:
    """The QoS class: ``status.qosClass`` if the API server set it (from 1.27), else computed from the resources.

    Guaranteed: every container has cpu and memory limits equal to its requests. BestEffort: no container has a cpu or
    memory request or limit. Burstable: all others. Init containers count. If the pod has spec.resources (gate
    PodLevelResources), only these count; before 1.37 (change 137150) even if they are empty.
    """
    if pod.status_qos_class is not None and version.at_least(27):
        return pod.status_qos_class
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    every_limit = True
    if _reads_pod_level(pod, version):
        _add_counted(requests, pod.requests)
        limited = _add_counted(limits, pod.limits)
        every_limit = not pod.limits or limited
    else:
        for container in pod.all_containers:
            _add_counted(requests, container.requests)
            every_limit = _add_counted(limits, container.limits) and every_limit
    if not requests and not limits:
        return "BestEffort"
    same = all(name in limits and limits[name].nano == amount.nano for name, amount in requests.items())
    return "Guaranteed" if every_limit and same and len(requests) == len(limits) else "Burstable"


def _reads_pod_level(pod: Pod, version: KubeletVersion) -> bool:
    fixed = version.enabled("PodLevelResourcesFixKubeletQOSClass")
    return pod_level_set(pod) or (pod.empty_resources and not fixed)


def _add_counted(sums: dict[str, Quantity], amounts: Resources) -> bool:
    """Adds cpu and memory above zero; returns whether both were there."""
    found = 0
    for name in _COUNTED:
        amount = amounts.get(name)
        if amount is not None and amount.sign() > 0:
            sums[name] = sums[name] + amount if name in sums else amount
            found += 1
    return found == len(_COUNTED)


def oom_score_adj(pod: Pod, container: Container, memory_capacity: int, version: KubeletVersion) -> int:
    """The oom_score_adj of a container's processes; see ``oom_score``."""
    return oom_score(pod, container, memory_capacity, version).value


def oom_score(
    pod: Pod, container: Container, memory_capacity: int, version: KubeletVersion, qos: QosClass | None = None
) -> Ruled[int]:
    """The oom_score_adj of a container's processes, -997 to 1000, on a node with ``memory_capacity`` bytes.

    * node-critical pods (before 1.22, change 99729, every critical one) -997, Guaranteed -997, BestEffort 1000;
    * Burstable: 1000 - 1000 × memory request / capacity, bounded to 3..999;
    * a sidecar gets at most the score of the regular container with the smallest request (1.32, change 128029);
    * the part of the pod's own memory request (gate PodLevelResources) that no container claims is spread over all.

    ``qos`` is the pod's class where it is known already.
    """

    def ruled(value: int, why: str) -> Ruled[int]:
        def inputs() -> Inputs:
            request = dict(amounts("requests", container.requests, "memory"))
            return {**request, "node's memory": str(from_bytes(memory_capacity))}

        return Ruled(value, Reason(f"GetContainerOOMScoreAdjust: {why}", _OOM_SCORE_ADJ, inputs))

    if _spared(pod, version):
        return ruled(GUARANTEED_OOM_SCORE_ADJ, f"a system-node-critical pod has {GUARANTEED_OOM_SCORE_ADJ}")
    qos = qos or qos_class(pod, version)
    if qos == "Guaranteed":
        return ruled(GUARANTEED_OOM_SCORE_ADJ, f"a {qos} pod has {GUARANTEED_OOM_SCORE_ADJ}")
    if qos == "BestEffort":
        return ruled(BEST_EFFORT_OOM_SCORE_ADJ, f"a {qos} pod has {BEST_EFFORT_OOM_SCORE_ADJ}")
    memory, spread = _memory(container.requests), _spread_pod_request(pod)
    score = raw = _score(memory + spread, memory_capacity)
    if container.sidecar and version.at_least(32):
        smallest = min(_memory(regular.requests) for regular in pod.containers)
        score = min(score, _score(smallest + spread, memory_capacity))
    if score < 1000 + GUARANTEED_OOM_SCORE_ADJ:
        score = 1000 + GUARANTEED_OOM_SCORE_ADJ
    elif score == BEST_EFFORT_OOM_SCORE_ADJ:
        score -= 1
    asked = f"({memory} + {spread} of the pod's request)" if spread else f"{memory}"
    then = "" if raw == score else f", made {score} (a sidecar's is not above a regular container's; 3 to 999)"
    return ruled(score, f"1000 - 1000 × {asked} / {memory_capacity} bytes of the node = {raw}{then}")


def qos_reason(pod: Pod, version: KubeletVersion) -> Reason:
    """Why a pod has its QoS class."""
    return Reason(_qos_rule(pod, version), _QOS_CLASS)


def _qos_rule(pod: Pod, version: KubeletVersion) -> str:
    if pod.status_qos_class is not None and version.at_least(27):
        return "GetPodQOS: status.qosClass says so"
    where = "spec.resources has" if _reads_pod_level(pod, version) else "its containers have"
    return {
        "Guaranteed": f"ComputePodQOS: {where} cpu and memory limits throughout, equal to the requests",
        "Burstable": f"ComputePodQOS: {where} a cpu or memory request or limit, but not equal ones throughout",
        "BestEffort": f"ComputePodQOS: {where} no cpu or memory request or limit",
    }[qos_class(pod, version)]


def _score(memory: int, capacity: int) -> int:
    return 1000 - _truncated(wrapped(1000 * memory), capacity)


def _spread_pod_request(pod: Pod) -> int:
    """The pod's request that no container claims, in bytes per container (remainingPodMemReqPerContainer)."""
    request = _memory(pod.requests)
    if request == 0:
        return 0
    return _truncated(request - _memory(aggregate_requests(pod)), len(pod.all_containers))


def _memory(amounts: Mapping[str, Quantity]) -> int:
    return amounts["memory"].value() if "memory" in amounts else 0


def _truncated(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)


def _spared(pod: Pod, version: KubeletVersion) -> bool:
    """Does the pod's priority protect it from the OOM killer?"""
    return is_critical(pod) if not version.at_least(22) else _node_critical(pod)


def is_static(pod: Pod) -> bool:
    """IsStaticPod: the pod comes from a file or a URL, not from the API server."""
    source = pod.annotations.get(_SOURCE_ANNOTATION)
    return source is not None and source != "api"


def is_critical(pod: Pod) -> bool:
    """IsCriticalPod: a static pod, a mirror pod, or a pod of system priority."""
    mirror = _MIRROR_ANNOTATION in pod.annotations
    return is_static(pod) or mirror or (pod.priority is not None and pod.priority >= _SYSTEM_CRITICAL_PRIORITY)


def _node_critical(pod: Pod) -> bool:
    """IsNodeCriticalPod: a critical pod whose class is system-node-critical."""
    return pod.priority_class_name == "system-node-critical" and is_critical(pod)
