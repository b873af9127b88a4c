"""A manifest with its requests and limits decoded to Quantities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cgroup_engine.errors import QuantityError, quoted
from cgroup_engine.inputs.static_pods.not_covered import NotCoveredError
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.quantity import Quantity, parse

_SIZED = ("cpu", "memory")


def with_amounts(item: Mapping[str, Any], pod: Pod, version: KubeletVersion) -> dict[str, Any]:
    """A manifest with Quantities, rounded up to milli, and with requests taken from limits.

    ``pod``: the same manifest read, with defaults. Source: SetDefaults_ResourceList, SetDefaults_Pod.

    :raises NotCoveredError: an amount is written in a way with more than one reading.
    """
    spec = dict(item["spec"])
    # the default policies that releases before 1.33 fill in
    resize = not version.at_least(33) and version.enabled("InPlacePodVerticalScaling")
    for key in ("containers", "initContainers", "ephemeralContainers"):
        if isinstance(spec.get(key), list):
            spec[key] = [
                _container(container, f"spec.{key}[{n}]", key, resize and key == "containers")
                for n, container in enumerate(spec[key])
            ]
    spec["overhead"] = _rounded(spec.get("overhead"), "spec.overhead")
    if isinstance(spec.get("volumes"), list):
        spec["volumes"] = [_volume(volume, f"spec.volumes[{n}]") for n, volume in enumerate(spec["volumes"])]
    if version.at_least(32) and isinstance(spec.get("resources"), dict):
        spec["resources"] = _of_the_pod(spec["resources"], pod, version)
    return {**item, "spec": spec}


def _container(container: Any, spot: str, key: str, resize: bool) -> Any:
    if not isinstance(container, dict) or not isinstance(container.get("resources"), dict):
        return container
    resources = _resources(container["resources"], f"{spot}.resources")
    limits, requests = resources["limits"], resources["requests"]
    if key != "ephemeralContainers" and limits is not None:
        resources["requests"] = requests = {**limits, **(requests or {})}
    if resize and requests is not None:
        policies = list(container.get("resizePolicy") or ())
        said = [policy.get("resourceName") for policy in policies if isinstance(policy, dict)]
        policies += [
            {"resourceName": name, "restartPolicy": "NotRequired"}
            for name in _SIZED
            if name in requests and name not in said
        ]
        container = {**container, "resizePolicy": policies or container.get("resizePolicy")}
    return {**container, "resources": resources}


def _of_the_pod(resources: Mapping[str, Any], pod: Pod, version: KubeletVersion) -> dict[str, Any]:
    amounts = _resources(resources, "spec.resources")
    if version.enabled("PodLevelResources"):
        for key, summed in (("limits", pod.limits), ("requests", pod.requests)):
            for name in summed.keys() - (amounts[key] or {}).keys():
                if any(_is_large(name, container) for container in pod.all_containers):
                    raise NotCoveredError(f"spec.resources.{key}.{name}", "is a sum of amounts of more than 18 digits")
        amounts["limits"] = dict(pod.limits) or amounts["limits"]
        amounts["requests"] = dict(pod.requests) or amounts["requests"]
    return amounts


def _is_large(name: str, container: Container) -> bool:
    """Has an amount more digits than an int64 holds? Go adds such amounts by other rules."""
    amounts = (container.requests.get(name), container.limits.get(name))
    return any(amount is not None and amount.small is None for amount in amounts)


def _volume(volume: Any, spot: str) -> Any:
    """A volume with the storage of its volumeClaimTemplate decoded; one without a kind becomes an emptyDir."""
    if not isinstance(volume, dict):
        return volume
    if all(value is None for key, value in volume.items() if key != "name"):
        return {**volume, "emptyDir": {}}
    if "ephemeral" not in volume:
        return volume
    try:
        template = volume["ephemeral"]["volumeClaimTemplate"]
        spec = {**template["spec"]}
        spec["resources"] = _resources(spec["resources"], f"{spot}.ephemeral.volumeClaimTemplate.spec.resources")
    except (KeyError, TypeError):
        raise NotCoveredError(f"{spot}.ephemeral", "has no spec.resources in its volumeClaimTemplate") from None
    return {**volume, "ephemeral": {**volume["ephemeral"], "volumeClaimTemplate": {**template, "spec": spec}}}


def _resources(resources: Mapping[str, Any], spot: str) -> dict[str, Any]:
    rounded = {key: _rounded(resources.get(key), f"{spot}.{key}") for key in ("limits", "requests")}
    return {**resources, **rounded}


def _rounded(amounts: Any, spot: str) -> Resources | None:
    if amounts is None:
        return None
    if not isinstance(amounts, dict):
        raise NotCoveredError(spot, "is not a mapping")
    return {name: written_amount(raw, f"{spot}.{name}").rounded_up_to_milli() for name, raw in amounts.items()}


def written_amount(raw: Any, spot: str) -> Quantity:
    """Reads an amount of a manifest.

    :raises NotCoveredError: it is no amount, or a number with a fraction, whose spelling decides the hash.
    """
    if isinstance(raw, bool) or not isinstance(raw, (str, int)) or (isinstance(raw, int) and abs(raw) >= 1 << 63):
        raise NotCoveredError(spot, f"{quoted(raw)} is not a text or a whole number")
    try:
        return parse(raw.strip() if isinstance(raw, str) else str(raw))
    except QuantityError as refused:
        raise NotCoveredError(spot, refused.message) from None
