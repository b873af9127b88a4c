"""The resources of a pod that the API refuses, so that no kubelet gets them (``pkg/apis/core/validation``).

The API accepts an amount over 2^63-1, and every kubelet's arithmetic overflows with it. ``overflows`` names such
amounts.
"""

from __future__ import annotations

from collections.abc import Iterator

from cgroup_engine.errors import PodError, QuantityError, quoted
from cgroup_engine.kubelet.resources import aggregate_limits, aggregate_requests, pod_level_applies, pod_level_set
from cgroup_engine.model.hugepages import PREFIX, page_size_of_resource
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod, Resources
from cgroup_engine.model.quantity import Quantity


def check_pod(pod: Pod, version: KubeletVersion) -> None:
    """Checks a defaulted pod.

    :raises PodError: the API would refuse its resources; the message names file, object and field.
    """
    _Checker(pod, version).check()


def overflows(pod: Pod) -> Iterator[str]:
    """A line for each amount of a pod that overflows a kubelet's int64, with the number that the kubelet sees."""
    every = [
        (f"{container.name}: {key}", amounts)
        for container in pod.all_containers
        for key, amounts in (("limits", container.limits), ("requests", container.requests))
    ]
    every += [("spec.overhead", pod.overhead), ("spec.resources.limits", pod.limits)]
    every += [("spec.resources.requests", {**pod.gated_requests, **pod.requests})]
    for spot, amounts in every:
        for name, amount in amounts.items():
            if not amount.fits():
                left = f"a kubelet's 64 bits take {quoted(str(amount))} for {amount.value()}"
                yield f"{pod.source}: pod {pod}: {spot}.{quoted(name)[1:-1]}: {left}"


def _whole_pages(name: str, amount: Quantity) -> bool:
    """IsHugePageResourceValueDivisible."""
    try:
        return amount.value() % page_size_of_resource(name) == 0
    except QuantityError:
        return False


class _Checker:
    def __init__(self, pod: Pod, version: KubeletVersion) -> None:
        self.pod = pod
        self.version = version

    def error(self, field_name: str, message: str, todo: str, value: str | None = None) -> PodError:
        where = f"{self.pod.source}: pod {self.pod}"
        return PodError(f"{where}: {field_name}: {message}", path=where, value=value, todo=todo)

    def check(self) -> None:
        pod = self.pod
        for key, containers in (("containers", pod.containers), ("initContainers", pod.init_containers)):
            for n, container in enumerate(containers):
                spot = f"spec.{key}[{n}].resources"
                self.amounts(container.limits, f"{spot}.limits")
                self.amounts(container.requests, f"{spot}.requests")
                self.over_limit(container.requests, container.limits, spot)
                self.not_overcommitted(container.requests, container.limits, spot)
                self.hugepages({**container.limits, **container.requests}, spot)
        self.amounts(pod.overhead, "spec.overhead")
        self.hugepages(pod.overhead, "spec.overhead")
        if pod_level_set(pod):
            self.pod_level()

    def amounts(self, amounts: Resources, spot: str) -> None:
        for name, amount in amounts.items():
            here = f"{spot}.{name}" if name.isprintable() and len(name) <= 253 else f"{spot}.{quoted(name)}"
            text = str(amount)
            if amount.sign() < 0:
                raise self.error(here, f"{quoted(text)} is below zero", "give zero or more", text)

    def over_limit(self, requests: Resources, limits: Resources, spot: str) -> None:
        """ValidateResourceRequirements: no request exceeds its limit."""
        for name, amount in requests.items():
            if name in limits and amount.nano > limits[name].nano:
                raise self.error(
                    f"{spot}.requests.{name}", f"{amount} is over its limit of {limits[name]}", "lower it", str(amount)
                )

    def not_overcommitted(self, requests: Resources, limits: Resources, spot: str) -> None:
        """Huge pages and devices: the request equals the limit. Huge pages: whole pages (IsOvercommitAllowed)."""
        for name, amount in requests.items():
            native = "/" not in name or "kubernetes.io/" in name
            if native and not name.startswith(PREFIX):
                continue
            here = f"{spot}.requests.{name}"
            if name not in limits:
                raise self.error(here, "has no limit beside it", "give the same limit")
            if amount.nano != limits[name].nano:
                raise self.error(here, f"{amount} is not its limit of {limits[name]}", "make both the same")
            if name.startswith(PREFIX) and not _whole_pages(name, amount):
                raise self.error(here, f"{amount} is no number of whole pages", "give a multiple of the size")

    def hugepages(self, amounts: Resources, spot: str) -> None:
        if any(name.startswith(PREFIX) for name in amounts) and not ("cpu" in amounts or "memory" in amounts):
            raise self.error(spot, "has huge pages without cpu and memory", "give cpu or memory too")

    def pod_level(self) -> None:
        """validatePodResources: the pod's request covers its containers', and no container limit exceeds the pod's."""
        pod = self.pod
        for key, amounts in (("limits", pod.limits), ("requests", pod.requests)):
            self.amounts(amounts, f"spec.resources.{key}")
            for name in amounts:
                if not pod_level_applies(name, self.version):
                    raise self.error("spec.resources", f"{quoted(name)} is not for pods", "use cpu or memory")
        self.hugepages({**pod.limits, **pod.requests}, "spec.resources")
        self.over_limit(pod.requests, pod.limits, "spec.resources")
        for name, amount in aggregate_requests(pod).items():
            if name in pod.requests and pod.requests[name].nano < amount.nano:
                raise self.error(
                    f"spec.resources.requests.{name}",
                    f"{pod.requests[name]} is less than the {amount} its containers ask for",
                    "raise it",
                )
        for name, amount in aggregate_limits(pod).items():
            if name.startswith(PREFIX) and name in pod.limits and pod.limits[name].nano < amount.nano:
                raise self.error(
                    f"spec.resources.limits.{name}",
                    f"{pod.limits[name]} is less than the {amount} its containers are limited to",
                    "raise it",
                )
        for n, container in enumerate(pod.containers):
            for name, amount in container.limits.items():
                if name in pod.limits and amount.nano > pod.limits[name].nano:
                    raise self.error(
                        f"spec.containers[{n}].resources.limits.{name}",
                        f"{amount} is over the pod's limit of {pod.limits[name]} in spec.resources",
                        "lower it",
                    )
