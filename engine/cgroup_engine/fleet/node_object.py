"""What a Node object says of a machine: its size, its kubelet, its runtime, its system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cgroup_engine.errors import InputError, NodeError, QuantityError, quoted
from cgroup_engine.kubelet.oci_runtime import OciRuntime, parse_oci_runtime
from cgroup_engine.model import kubelet_version
from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import Runtime
from cgroup_engine.model.quantity import parse as parse_quantity

MAX_PIDS = 4_194_304
"""kernel.pid_max of a 64-bit machine under systemd, which no Node tells."""

_RUNTIMES: dict[str, Runtime] = {"containerd": "containerd", "cri-o": "crio", "docker": "docker"}
_OF_V1 = (
    r"Amazon Linux 2$|Amazon Linux 2 ",
    r"Ubuntu (1\d|20|21\.04)",
    r"(CentOS|Red Hat Enterprise|Rocky|AlmaLinux|Oracle).* [78](\.|\b)",
    r"Debian GNU/Linux (\d|10)\b",
    r"SUSE Linux Enterprise Server (12|15 SP[0-5])",
    r"Flatcar.* (2|30[0-2])\d",
)
_V1_SYSTEMS = re.compile("|".join(_OF_V1))
"""Systems that boot with cgroup v1 unless told otherwise. A Node does not tell the version of its cgroups."""


@dataclass(frozen=True)
class SeenNode:
    """A Node. `cpus` is a count; `memory`, `swap` and `huge_pages` are bytes, the latter by the bytes of a page.

    `cgroup_version` is that of the node's system by default; `--cgroup-v1` and `--cgroup-v2` know better.
    `allocatable_memory` are bytes as the kubelet reports them.
    """

    name: str
    cpus: int
    memory: int
    max_pods: int | None
    version: KubeletVersion
    runtime: Runtime
    oci_runtime: OciRuntime | None
    cgroup_version: Literal[1, 2]
    system: str
    swap: int = 0
    huge_pages: Mapping[int, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def node_of_object(item: Mapping[str, Any]) -> SeenNode:
    """The machine of a Node.

    :raises NodeError: a field is missing or wrong.
    """
    name = item["metadata"]["name"]
    status = _mapping(item, "status", name)
    capacity, info = _mapping(status, "capacity", name), _mapping(status, "nodeInfo", name)
    runtime, oci_runtime = _runtime(str(info.get("containerRuntimeVersion", "")))
    system = str(info.get("osImage", ""))
    if info.get("operatingSystem") == "windows":
        raise NodeError(f"node {name}: it runs Windows, which has no cgroups", value=name)
    swap = info.get("swap")
    labels = item["metadata"].get("labels")
    return SeenNode(
        name=name,
        cpus=max(1, _amount(capacity, "cpu", name, milli=True) // 1000),
        memory=_amount(capacity, "memory", name),
        max_pods=_amount(capacity, "pods", name) if "pods" in capacity else None,
        version=_version(info.get("kubeletVersion"), name),
        runtime=runtime,
        oci_runtime=oci_runtime,
        cgroup_version=1 if _V1_SYSTEMS.search(system) else 2,
        system=system,
        swap=swap["capacity"] if isinstance(swap, dict) and isinstance(swap.get("capacity"), int) else 0,
        huge_pages={
            _bytes(key.removeprefix(PREFIX), key, name): _amount(capacity, key, name)
            for key in capacity
            if isinstance(key, str) and key.startswith(PREFIX)
        },
        labels=labels if isinstance(labels, dict) else {},
    )


def _version(text: object, name: str) -> KubeletVersion:
    """`v1.31.4-eks-1552ad0` is a kubelet 1.31."""
    found = re.match(r"v?(1\.\d+)", text) if isinstance(text, str) else None
    if found is None:
        raise NodeError(f"node {name}: nodeInfo.kubeletVersion: {quoted(text)} is no version", value=str(text))
    try:
        return kubelet_version.parse(found[1])
    except InputError as refused:
        raise NodeError(f"node {name}: nodeInfo.kubeletVersion: {refused}", value=found[1]) from None


def _runtime(text: str) -> tuple[Runtime, OciRuntime | None]:
    """`containerd://2.1.4`. The OCI runtime of CRI-O is not told by its version."""
    kind, _, version = text.partition("://")
    runtime = _RUNTIMES.get(kind, "containerd")
    if kind != "containerd":
        return runtime, None
    try:
        return runtime, parse_oci_runtime(f"containerd-{version}", runtime)
    except ValueError:
        return runtime, None


def _mapping(parent: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    value = parent.get(key)
    if not isinstance(value, dict):
        raise NodeError(f"node {name}: status.{key} is missing" if key != "status" else f"node {name}: has no status")
    return value


def _amount(capacity: Mapping[str, Any], key: str, name: str, *, milli: bool = False) -> int:
    if key not in capacity:
        raise NodeError(f"node {name}: status.capacity.{key} is missing")
    try:
        quantity = parse_quantity(str(capacity[key]))
    except QuantityError as refused:
        raise NodeError(f"node {name}: status.capacity.{key}: {refused}") from None
    return quantity.milli_value() if milli else quantity.value()


def _bytes(text: str, key: str, name: str) -> int:
    try:
        return parse_quantity(text).value()
    except QuantityError as refused:
        raise NodeError(f"node {name}: status.capacity.{key}: {refused}") from None
