"""The sums of a pod's requests and limits, and the resources that the runtime is told for the sandbox.

Sources: ``k8s.io/component-helpers/resource`` (PodRequests, PodLimits),
``pkg/kubelet/kuberuntime/kuberuntime_sandbox_linux.go`` (calculateSandboxResources).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cgroup_engine.kubelet.shares import milli_to_quota, milli_to_shares
from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CfsQuota, CgroupLimits
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.quantity import ZERO, Quantity

POD_LEVEL = ("cpu", "memory")  # and hugepages-*


def pod_level_set(pod: Pod) -> bool:
    """Has the pod spec.resources (IsPodLevelResourcesSet)? Without the gate PodLevelResources these are never read."""
    return bool(pod.requests or pod.limits)


def pod_requests(pod: Pod, version: KubeletVersion) -> Resources:
    """PodRequests: the containers' aggregate, replaced by pod-level values, plus the overhead."""
    sums = dict(aggregate_requests(pod))
    sums.update((name, amount) for name, amount in pod.requests.items() if pod_level_applies(name, version))
    _add(sums, pod.overhead)
    return sums


def pod_limits(pod: Pod, version: KubeletVersion) -> Resources:
    """PodLimits: as PodRequests, but the overhead is added only to limits that exist and are not zero."""
    sums = dict(aggregate_limits(pod))
    sums.update((name, amount) for name, amount in pod.limits.items() if pod_level_applies(name, version))
    for name, amount in pod.overhead.items():
        if name in sums and not sums[name].is_zero():
            sums[name] = sums[name] + amount
    return sums


def pod_level_applies(name: str, version: KubeletVersion) -> bool:
    """IsSupportedPodLevelResource: CPU, memory, and since 1.33 (change 130577) huge pages."""
    return name in POD_LEVEL or (name.startswith(PREFIX) and version.at_least(33))


def aggregate_requests(pod: Pod) -> Resources:
    """AggregateContainerRequests: the larger of the sums while the pod runs and while it starts.

    Running: all regular containers and sidecars. Starting: each init container with the sidecars before it.
    """
    return _aggregate(pod, [c.requests for c in pod.containers], [c.requests for c in pod.init_containers])


def aggregate_limits(pod: Pod) -> Resources:
    """AggregateContainerLimits: as ``aggregate_requests``."""
    return _aggregate(pod, [c.limits for c in pod.containers], [c.limits for c in pod.init_containers])


def _aggregate(pod: Pod, regular: Iterable[Resources], init: Iterable[Resources]) -> Resources:
    running = dict(summed(regular))
    if not pod.init_containers:
        return running
    starting: dict[str, Quantity] = {}
    for container, amounts, step in starting_steps(pod, init):
        if container.sidecar:
            _add(running, amounts)
        _maximum(starting, step)
    _maximum(running, starting)
    return running


def starting_steps(pod: Pod, init: Iterable[Resources]) -> Iterator[tuple[Container, Resources, Resources]]:
    """Each init container, its amounts, and the sum of these and of all sidecars before it."""
    sidecars: dict[str, Quantity] = {}
    for container, amounts in zip(pod.init_containers, init, strict=True):
        step = dict(sidecars)
        _add(step, amounts)
        if container.sidecar:
            sidecars = step
        yield container, amounts, step


def summed(every: Iterable[Resources]) -> Resources:
    sums: dict[str, Quantity] = {}
    for amounts in every:
        _add(sums, amounts)
    return sums


def _add(sums: dict[str, Quantity], amounts: Resources) -> None:
    for name, amount in amounts.items():
        sums[name] = sums[name] + amount if name in sums else amount


def _maximum(largest: dict[str, Quantity], amounts: Resources) -> None:
    for name, amount in amounts.items():
        if name not in largest or amount.nano > largest[name].nano:
            largest[name] = amount


def limits_for_sandbox(pod: Pod, cfs: CfsQuota, version: KubeletVersion) -> CgroupLimits:
    """calculateSandboxResources: the pod's resources without its overhead, as the kubelet tells the runtime.

    Runtimes whose sandbox is a virtual machine use them; runc gives them to no cgroup.
    """
    bare = replace(pod, overhead={})
    requests, limits = pod_requests(bare, version), pod_limits(bare, version)
    return _linux_resources(requests.get("cpu"), limits.get("cpu", ZERO), limits.get("memory", ZERO), cfs)


def limits_for_overhead(pod: Pod, cfs: CfsQuota) -> CgroupLimits:
    """convertOverheadToLinuxResources: the pod's overhead, which the kubelet tells the runtime too."""
    if not pod.overhead:
        return CgroupLimits()
    cpu = pod.overhead.get("cpu", ZERO)
    return _linux_resources(cpu, cpu, pod.overhead.get("memory", ZERO), cfs)


def _linux_resources(request: Quantity | None, limit: Quantity, memory: Quantity, cfs: CfsQuota) -> CgroupLimits:
    """calculateLinuxResources since 1.25."""
    return CgroupLimits(
        shares=milli_to_shares((limit if request is None else request).milli_value()),
        quota_us=milli_to_quota(limit.milli_value(), cfs.period_us) if cfs.enforced else None,
        period_us=cfs.period_us if cfs.enforced else None,
        memory=memory.value() or None,
    )
