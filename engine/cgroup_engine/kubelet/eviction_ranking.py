"""In which order the kubelet evicts pods for memory, and which it never evicts.

Sources: ``pkg/kubelet/eviction/helpers.go`` (rankMemoryPressure), ``eviction_manager.go`` (evictPod), kubelet 1.36.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cgroup_engine.kubelet.qos import is_critical
from cgroup_engine.kubelet.resources import aggregate_requests, pod_level_set
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import ZERO


def rank_memory_pressure(pods: Iterable[Pod], working_sets: Mapping[str, int]) -> list[Pod]:
    """The pods in the order in which they are candidates for eviction.

    Pods without figures come first, then those that use more than they request; then lower priority, then more usage
    over the request. ``working_sets``: UID -> bytes. Of equal pods the kubelet's order is not defined; here it is the
    given one.
    """

    def rank(pod: Pod) -> tuple[bool, bool, int, int]:
        usage = working_sets.get(pod.uid)
        if usage is None:
            return (False, False, pod.priority or 0, 0)
        over = usage - memory_request(pod)
        return (True, over <= 0, pod.priority or 0, -over)

    return sorted(pods, key=rank)


def memory_request(pod: Pod) -> int:
    """Bytes that a pod requests, as the ranking counts them (GetResourceRequestQuantity).

    spec.resources replace what the containers request. The overhead counts only if there is a request.
    """
    request = (pod.requests if pod_level_set(pod) else aggregate_requests(pod)).get("memory", ZERO)
    if not request.is_zero():
        request = request + pod.overhead.get("memory", ZERO)
    return request.value()


def is_evictable(pod: Pod) -> bool:
    """False for critical pods: static and mirror pods, and those of system priority (IsCriticalPod)."""
    return not is_critical(pod)
