"""In-place resize: the changes that the API server or the kubelet refuses.

Sources: ValidatePodResize of ``pkg/apis/core/v1/validation/validation.go``, podResizesAdmitHandler of
``pkg/kubelet/allocation/handlers.go`` (canResizePod of ``pkg/kubelet/kubelet.go`` up to 1.32), predicateAdmitHandler of
``pkg/kubelet/lifecycle/predicate.go``, and the check of memory in use before a resize in
``pkg/kubelet/kuberuntime/kuberuntime_manager.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from cgroup_engine.errors import ResizeRefusedError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import is_critical, qos_class
from cgroup_engine.kubelet.resources import pod_level_set, pod_requests
from cgroup_engine.kubelet.swap import may_swap
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.quantity import ZERO, Quantity

Pairs = list[tuple[Container, Container]]  # each container before and after
Usage = Callable[[Container | None], int]  # bytes of memory in use: of a container, or of the pod with None

_RESIZED = ("cpu", "memory")
_STATIC = ("kubernetes.io/config.mirror", "kubernetes.io/config.source")


def check_resize(node: NodeConfig, old: Pod, new: Pod) -> None:
    """Returns if an API server and a kubelet would accept the change.

    :raises ResizeRefusedError: one would refuse it; the message says why.
    """
    version = node.version
    if not version.enabled("InPlacePodVerticalScaling"):
        why = "needs featureGates.InPlacePodVerticalScaling" if version.at_least(27) else "came with 1.27"
        raise _refused(new, f"a kubelet {version} resizes no pods in place: that {why}")
    if any(old.annotations.get(name, "api") != "api" for name in _STATIC):
        raise _refused(new, "static pods cannot be resized")
    if qos_class(old, version) != qos_class(replace(new, status_qos_class=None), version):
        raise _refused(new, f"the QoS class may not change, and is {qos_class(old, version)}")
    if (pod_level_set(old) or pod_level_set(new)) and not version.enabled("InPlacePodLevelResourcesVerticalScaling"):
        raise _refused(new, "spec.resources is set, which needs featureGates.InPlacePodLevelResourcesVerticalScaling")
    _check_containers(node, old, new)
    for name, before, after in (("limits", old.limits, new.limits), ("requests", old.requests, new.requests)):
        _check_amounts(new, f"spec.resources.{name}", before, after)
    if old.overhead != new.overhead:
        raise _refused(new, "spec.overhead cannot be changed")
    _check_swap(node, old, new)
    if qos_class(old, version) == "Guaranteed":
        _check_managers(node, old, new)


def _check_swap(node: NodeConfig, old: Pod, new: Pod) -> None:
    """disallowResizeForSwappableContainers (1.33, change 130831): swap follows from the memory request."""
    version = node.version
    if not version.at_least(33) or node.cgroup_version == 1:
        return
    for a, b in zip(old.all_containers, new.all_containers, strict=True):
        same = _same(a.requests, b.requests, "memory")
        if same or "memory" in a.restart_on:
            continue
        for container, pod in ((a, old), (b, new)):
            if may_swap(container, pod, qos_class(old, version), node.swap_behavior, version):
                raise _refused(
                    new,
                    f"{b.name}: a container with swap keeps its memory request without resizePolicy RestartContainer",
                )


def _check_managers(node: NodeConfig, old: Pod, new: Pod) -> None:
    """The static policies of the CPU and memory managers keep what they gave to Guaranteed pods.

    Since 1.34 (change 132473) each refuses a change of its own resource, and has a gate of its own. Before, both refuse
    every change.
    """
    version, each_its_own = node.version, node.version.at_least(34)
    memory_gate = "InPlacePodVerticalScalingExclusive" + ("Memory" if each_its_own else "CPUs")
    for resource, policy, gate in (
        ("cpu", f"cpuManagerPolicy {node.cpu_manager_policy}", "InPlacePodVerticalScalingExclusiveCPUs"),
        ("memory", f"memoryManagerPolicy {node.memory_manager_policy}", memory_gate),
    ):
        static = policy.lower().endswith(" static") and (resource == "cpu" or version.at_least(32))
        differs = not each_its_own or any(
            not _same(a.requests, b.requests, resource)
            for a, b in zip(old.all_containers, new.all_containers, strict=True)
            if _resizable(a, version)
        )
        if static and differs and not version.enabled(gate):
            raise _refused(new, f"Guaranteed pods are not resized with {policy}")


def check_fit(node: NodeConfig, new: Pod, others: Iterable[Pod]) -> None:
    """Returns if the node has room for the pod's requests beside the other pods'.

    Every amount is checked, even one that does not grow. A kubelet defers the resize until there is room. If a critical
    pod fits on the node alone, the kubelet evicts others for it, so it is accepted.

    :raises ResizeRefusedError: the requests exceed what the node reports as allocatable.
    """
    others = [] if is_critical(new) else list(others)
    for name, unit in (("cpu", "millicores"), ("memory", "bytes")):
        asked = _counted(name, pod_requests(new, node.version).get(name, ZERO))
        room = _counted(name, node.reported[name])
        used = sum(_counted(name, pod_requests(pod, node.version).get(name, ZERO)) for pod in others)
        if asked > 0 and asked > room - used:
            beside = f", of which other pods request {used}" if others else ""
            raise _refused(new, f"it requests {asked} {unit} of {name}, and {room} are allocatable{beside}")


def _counted(name: str, amount: Quantity) -> int:
    """An amount as the scheduler counts it: millicores, or bytes."""
    return amount.milli_value() if name == "cpu" else amount.value()


def _resizable(container: Container, version: KubeletVersion) -> bool:
    """IsResizableContainer: init containers that are no sidecars since 1.36, by gate."""
    return (
        not container.init
        or (container.sidecar and version.at_least(33))
        or version.enabled("InPlacePodVerticalScalingInitContainers")
    )


def pairs(old: Pod, new: Pod) -> Pairs:
    """The containers that can be resized, before and after; sidecars first."""
    return list(zip(old.long_running, new.long_running, strict=True))


def _check_containers(node: NodeConfig, old: Pod, new: Pod) -> None:
    for what, before, after in (
        ("containers", old.containers, new.containers),
        ("initContainers", old.init_containers, new.init_containers),
    ):
        if [container.name for container in before] != [container.name for container in after]:
            raise _refused(new, f"spec.{what} cannot be added, removed, renamed or moved")
        for a, b in zip(before, after, strict=True):
            if a.sidecar != b.sidecar:
                raise _refused(new, f"{b.name}: restartPolicy cannot be changed")
            _check_amounts(new, f"{b.name}: limits", a.limits, b.limits)
            _check_amounts(new, f"{b.name}: requests", a.requests, b.requests)
            resized = not (_same(a.limits, b.limits, *_RESIZED) and _same(a.requests, b.requests, *_RESIZED))
            if resized and not _resizable(a, node.version):
                sidecar = " before kubelet 1.33" if a.sidecar else ""
                raise _refused(new, f"{b.name}: init containers cannot be resized{sidecar}")
            if node.version.minor == 33 and "memory" not in b.restart_on and _memory(b.limits) < _memory(a.limits):
                raise _refused(new, f"{b.name}: in 1.33 memory limits go down only with resizePolicy RestartContainer")


def _check_amounts(pod: Pod, where: str, before: Resources, after: Resources) -> None:
    for name in before:
        if name not in after:
            raise _refused(pod, f"{where}.{name} cannot be removed")
    for name in {**before, **after}:
        if name not in _RESIZED and not _same(before, after, name):
            raise _refused(pod, f"{where}.{name} cannot be changed: only cpu and memory can")


def check_memory_in_use(
    node: NodeConfig, old: Pod, new: Pod, limits: tuple[int | None, int | None], usage: Usage
) -> None:
    """Returns if every memory limit that goes down stays above the usage. The usage may grow right after.

    ``limits``: of the pod's cgroup, in bytes, before and after. Up to 1.33 a kubelet checks the pod alone, at every
    change of memory. Since 1.34 (change 133012) it checks the pod and each container whose limit goes down.

    :raises ResizeRefusedError: a limit would fall below the usage.
    """
    problems = list(_above_limits(node, old, new, limits, usage))
    if problems:
        raise _refused(new, f"cannot decrease memory limits: {', '.join(problems)}")


def _above_limits(
    node: NodeConfig, old: Pod, new: Pod, limits: tuple[int | None, int | None], usage: Usage
) -> Iterator[str]:
    before, after = limits
    resized = any(_memory(a.limits) != _memory(b.limits) for a, b in pairs(old, new))
    down = after is not None and (before is None or after < before)
    if after is not None and (down if node.version.at_least(34) else resized) and usage(None) >= after:
        yield f"{after} bytes for the pod, of which {usage(None)} are in use"
    for a, b in pairs(old, new) if node.version.at_least(34) else ():
        limit, former = _limit(b, new), _limit(a, old)
        if limit and (not former or limit < former) and usage(b) >= limit:
            yield f"{limit} bytes for {b.name}, of which {usage(b)} are in use"


def _limit(container: Container, pod: Pod) -> int:
    return _memory(container.limits) or _memory(pod.limits)


def _memory(amounts: Resources) -> int:
    return amounts.get("memory", ZERO).value()


def _same(before: Resources, after: Resources, *names: str) -> bool:
    return all(before.get(name, ZERO).nano == after.get(name, ZERO).nano for name in names)


def _refused(pod: Pod, why: str) -> ResizeRefusedError:
    return ResizeRefusedError(f"{pod}: is not resized in place: {why}", todo="make a new pod of it or change less")
