"""The resources that a kubelet has allocated to a pod, which count instead of those in the spec.

A resize changes the spec at once. A kubelet allocates it later (condition PodResizePending, reason Deferred) or never
(Infeasible), and overwrites the spec with the allocation until then. Source: updatePodFromAllocation of
``pkg/kubelet/allocation/allocation_manager.go``; its checkpoint is not in the API, but the pod's status shows it:

* ``status.containerStatuses[].allocatedResources`` are the allocated requests, in every state of a resize
  (convertToAPIContainerStatuses of ``pkg/kubelet/kubelet_pods.go``).
* ``status.containerStatuses[].resources`` are the values in force: the allocated limits, unless an earlier resize is
  still in progress (convertContainerStatusResources).
* ``status.allocatedResources`` are the allocated requests of the whole pod with its overhead, and
  ``status.resources`` its values in force, with the gate InPlacePodLevelResourcesVerticalScaling.

A resize in progress is allocated whole, so its spec counts.

While a resize is on its way, a kubelet's cgroups have the values from before or after: it allocates the resize
(handlePodResourcesResize), asks for the status to be sent (SyncPod, SetPodStatus), and writes the cgroups
(doPodResizeAction), and the status arrives when it may. ``other_resources`` says which values these are.

The QoS classes and kubepods count the spec all the same: the kubelet's qosContainerManager gets its pods from
GetActivePods, without the allocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cgroup_engine.kubelet.resources import pod_level_applies
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Container, Pod, Resources, StatusResources
from cgroup_engine.model.quantity import ZERO, Quantity

_RESIZED = ("cpu", "memory")
_SHOWN = 4  # changes in a line


def with_allocation(pod: Pod, version: KubeletVersion) -> Pod:
    """The pod with its allocated resources; ``asked`` is then the pod as its spec asks for it.

    Needs the gate InPlacePodVerticalScaling, and for spec.resources InPlacePodLevelResourcesVerticalScaling. The pod
    stays as it is if the kubelet has allocated its spec, or if its status does not tell.
    """
    if pod.allocation is None or not version.enabled("InPlacePodVerticalScaling"):
        return pod
    given = pod.allocation.containers
    own = pod.allocation.pod if version.enabled("InPlacePodLevelResourcesVerticalScaling") else None
    requests = _pod_requests(pod, own, version)
    differs = any(
        _differ(each.requests, given[each.name].requests) for each in pod.all_containers if each.name in given
    )
    if not (pod.allocation.pending or differs or _differ(pod.requests, requests)):
        return pod
    allocated = replace(
        pod,
        containers=tuple(_container(each, given, pod.limits) for each in pod.containers),
        init_containers=tuple(_container(each, given, pod.limits) for each in pod.init_containers),
        requests=requests,
        limits=_pod_limits(pod, own, version),
        asked=pod,
    )
    return allocated if any(_changes(allocated)) else pod


def other_resources(pod: Pod, version: KubeletVersion) -> Pod | None:
    """The pod with the other resources that its cgroups may have while it is resized; None if it is not.

    These are the spec's, which the kubelet may have allocated and written already. If the status says that they are
    allocated, and that the resize is in progress, these are the resources in force, which the kubelet may not have
    replaced yet. It waits with a memory limit that is below the memory in use.
    """
    if pod.asked is not None or pod.allocation is None or not pod.allocation.in_progress:
        return pod.asked
    if not version.enabled("InPlacePodVerticalScaling"):
        return None
    given = {name: _in_force(status) for name, status in pod.allocation.containers.items()}
    own = pod.allocation.pod if version.enabled("InPlacePodLevelResourcesVerticalScaling") else None
    own = own if own is None else _in_force(own)
    return replace(
        pod,
        containers=tuple(_container(each, given, pod.limits) for each in pod.containers),
        init_containers=tuple(_container(each, given, pod.limits) for each in pod.init_containers),
        requests=_pod_requests(pod, own, version),
        limits=_pod_limits(pod, own, version),
    )


def _in_force(status: StatusResources) -> StatusResources:
    return status if status.requests_in_force is None else replace(status, requests=status.requests_in_force)


def allocation_note(pod: Pod) -> str:
    """A line about a pod whose spec asks for other resources than the kubelet has allocated, else ""."""
    if pod.asked is None or pod.allocation is None:
        return ""
    state = pod.allocation.pending or "not yet allocated"
    changes = list(_changes(pod))
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    text = f"resize {state}, so what the kubelet has allocated counts: {', '.join(changes[:_SHOWN])}{more}"
    if pod.allocation.in_progress:
        text += "; an earlier resize is in progress, so limits are those in force"
    return text


def _container(container: Container, given: Mapping[str, StatusResources], pod_limits: Resources) -> Container:
    status = given.get(container.name)
    if status is None:
        return container
    limits = container.limits
    if status.limits is not None:
        # a container without a limit has the pod's, and the runtime reports that one
        inherited = {name for name in _RESIZED if name in pod_limits and name not in limits}
        limits = _replaced(limits, {name: amount for name, amount in status.limits.items() if name not in inherited})
    return replace(container, requests=_replaced(container.requests, status.requests), limits=limits)


def _replaced(amounts: Resources, others: Resources) -> Resources:
    """Amounts with the others' CPU and memory; only these can be resized."""
    kept = {name: amount for name, amount in amounts.items() if name not in _RESIZED}
    return {**{name: others[name] for name in _RESIZED if name in others}, **kept}


def _pod_requests(pod: Pod, own: StatusResources | None, version: KubeletVersion) -> Resources:
    return pod.requests if own is None else _of_pod(pod.requests, own.requests, pod.overhead, version)


def _pod_limits(pod: Pod, own: StatusResources | None, version: KubeletVersion) -> Resources:
    return pod.limits if own is None else _of_pod(pod.limits, own.limits or {}, pod.overhead, version)


def _of_pod(amounts: Resources, status: Resources, overhead: Resources, version: KubeletVersion) -> Resources:
    """spec.resources with the status's CPU and memory, less the overhead; what the spec lacks stays the containers'."""
    resized = {
        name: status[name] - overhead.get(name, ZERO)
        for name in _RESIZED
        if name in amounts and name in status and pod_level_applies(name, version)
    }
    return {**amounts, **resized}


def _differ(before: Resources, after: Resources) -> bool:
    return any(before.get(name, ZERO).nano != after.get(name, ZERO).nano for name in _RESIZED)


def _changes(pod: Pod) -> Iterator[str]:
    asked = pod.asked
    if asked is None:
        return
    for a, b in zip(pod.all_containers, asked.all_containers, strict=True):
        yield from _changed(f"{b.name}: ", "request", a.requests, b.requests)
        yield from _changed(f"{b.name}: ", "limit", a.limits, b.limits)
    yield from _changed("pod: ", "request", pod.requests, asked.requests)
    yield from _changed("pod: ", "limit", pod.limits, asked.limits)


def _changed(whose: str, what: str, allocated: Resources, asked: Resources) -> Iterator[str]:
    for name in _RESIZED:
        have, want = allocated.get(name), asked.get(name)
        if (have.nano if have else None) != (want.nano if want else None):
            yield f"{whose}{name} {what} {_text(have)} instead of {_text(want)}"


def _text(amount: Quantity | None) -> str:
    return "none" if amount is None else str(amount)
