"""The defaults that the API fills into a pod (SetObjectDefaults_Pod, ``pkg/apis/core/v1/defaults.go``)."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from cgroup_engine.kubelet.resources import aggregate_limits, aggregate_requests, pod_level_applies
from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Container, Pod, Resources


def defaulted(pod: Pod, version: KubeletVersion) -> Pod:
    """A pod with the API's defaults: quantities rounded up to milli, requests from limits, spec.resources completed."""
    rounded: dict[str, Any] = {
        "containers": _each(pod.containers),
        "init_containers": _each(pod.init_containers),
        "overhead": _rounded(pod.overhead),
        "requests": _rounded(pod.requests),
        "limits": _rounded(pod.limits),
    }
    if any(value is not getattr(pod, name) for name, value in rounded.items()):
        pod = replace(pod, **rounded)
    if pod.requests or pod.limits:
        pod = with_default_hugepages(pod, version)
        pod = with_default_requests(pod, version)
    return pod


def _each(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """The containers; the same tuple where nothing changes, as with most pods of an API server."""
    new = tuple(map(_container, containers))
    return containers if all(map(operator.is_, new, containers)) else new


def _container(container: Container) -> Container:
    """SetDefaults_Pod: a missing request is set to the limit."""
    limits, requests = _rounded(container.limits), _rounded(container.requests)
    if not limits.keys() <= requests.keys():
        requests = {**limits, **requests}
    if limits is container.limits and requests is container.requests:
        return container
    return replace(container, requests=requests, limits=limits)


def _rounded(amounts: Resources) -> Resources:
    """SetDefaults_ResourceList: every quantity is rounded up to milli; the same mapping where none changes."""
    new = {name: amount.rounded_up_to_milli() for name, amount in amounts.items()}
    return amounts if all(map(operator.is_, new.values(), amounts.values())) else new


def with_default_hugepages(pod: Pod, version: KubeletVersion) -> Pod:
    """Fills huge pages into spec.resources.limits: the sum of the containers (defaultHugePagePodLimits).

    A size with a request in spec.resources is left alone. Releases before 1.33 fill in none.
    """
    sums = {
        name: amount
        for name, amount in aggregate_limits(pod).items()
        if name.startswith(PREFIX) and pod_level_applies(name, version) and name not in pod.requests
    }
    return replace(pod, limits={**sums, **pod.limits})


def with_default_requests(pod: Pod, version: KubeletVersion) -> Pod:
    """Fills spec.resources.requests when spec.resources.limits is given (defaultPodRequests).

    A missing request becomes the sum of the containers' requests, or else the pod's limit. For huge pages it is always
    the pod's limit.
    """
    if not pod.limits:
        return pod
    from_limits = {name: amount for name, amount in pod.limits.items() if pod_level_applies(name, version)}
    asked = {
        name: amount
        for name, amount in aggregate_requests(pod).items()
        if pod_level_applies(name, version) and not name.startswith(PREFIX)
    }
    return replace(pod, requests={**from_limits, **asked, **pod.requests})
