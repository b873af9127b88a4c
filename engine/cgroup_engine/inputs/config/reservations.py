"""The amounts that a node keeps from its pods (reservations), and where they are enforced."""

from __future__ import annotations

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.kubelet.allocatable import over_reserved, reservation
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.cpu_list import parse_cpu_list
from cgroup_engine.model.pod import Resources
from cgroup_engine.model.quantity import from_milli


def enforced(config: ConfigFields) -> frozenset[str]:
    """enforceNodeAllocatable, default [pods]; [] and [none] are the same.

    The -compressible keys came in 1.32. Since 1.31 a kubelet refuses a key that stands there twice.
    """
    listed = config.fields.get("enforceNodeAllocatable")
    if listed is None:
        return frozenset({"pods"})
    known = ["pods", "system-reserved", "kube-reserved", "none"]
    if config.version.at_least(32):
        known += ["system-reserved-compressible", "kube-reserved-compressible"]
    if not isinstance(listed, list):
        raise config.error("enforceNodeAllocatable", "is not a list", f"use some of {', '.join(known)}")
    for item in listed:
        if item not in known:
            raise config.error(
                "enforceNodeAllocatable", f"{quoted(item)} is not known", f"use some of {', '.join(known)}"
            )
    keys = frozenset(listed)
    if len(keys) != len(listed) and config.version.at_least(31):
        config.refuse("enforceNodeAllocatable", "names a key twice", "correct the list")
    if "none" in keys and len(listed) > 1:
        config.refuse("enforceNodeAllocatable", 'names "none" with others', "correct the list")
    for key in ("system-reserved", "kube-reserved"):
        if {key, f"{key}-compressible"} <= keys:
            config.refuse("enforceNodeAllocatable", f"names {key} and {key}-compressible", "use one of them")
    return keys - {"none"}


def both_reserved(config: ConfigFields, cpus: int) -> tuple[Resources, Resources]:
    """kubeReserved and systemReserved; reservedSystemCPUs replaces the CPU of both (cmd/kubelet/app/server.go)."""
    kube, system = dict(_reserved(config, "kubeReserved")), dict(_reserved(config, "systemReserved"))
    text = config.text("reservedSystemCPUs", "")
    if not text:
        return kube, system
    for name in ("systemReservedCgroup", "kubeReservedCgroup"):
        if config.text(name, ""):
            config.refuse("reservedSystemCPUs", f"is refused together with {name}", "use one of them")
    try:
        reserved = parse_cpu_list(text)
    except ValueError:
        raise config.error("reservedSystemCPUs", f"{quoted(text)} is no list of CPUs", 'write "0-1,4"', text) from None
    if reserved and max(reserved) >= cpus:
        config.refuse("reservedSystemCPUs", f"{quoted(text)} names CPUs that the node has not", "name others", text)
    kube.pop("cpu", None)
    if reserved:
        system["cpu"] = from_milli(len(reserved) * 1000)
    return kube, system


def _reserved(config: ConfigFields, name: str) -> Resources:
    amounts = {}
    for resource, raw in config.mapping(name).items():
        spot = f"{name}.{resource}" if isinstance(resource, str) and resource.isprintable() else name
        known = ("cpu", "memory", "ephemeral-storage", "pid")
        if resource not in known:
            raise config.error(name, f"{quoted(resource)} cannot be reserved", f"use {', '.join(known)}")
        amounts[resource] = config.amount(raw, spot)
    return amounts


def check_reserved(config: ConfigFields, node: NodeConfig) -> None:
    capacity = {name: amount for name, amount in node.capacity.items() if name != "pid"}
    kept = reservation(capacity, node.kube_reserved, node.system_reserved, node.eviction_memory)
    for name in over_reserved(capacity, kept):
        config.refuse(
            f"kubeReserved, systemReserved and evictionHard of {name}",
            f"are {kept[name]} in sum and the node has {capacity[name]}",
            "reserve less",
        )
    for key, enforcement in (("kubeReserved", "kube-reserved"), ("systemReserved", "system-reserved")):
        amounts = node.kube_reserved if key == "kubeReserved" else node.system_reserved
        if not amounts and {enforcement, f"{enforcement}-compressible"} & node.enforce:
            config.refuse(key, f"is empty, but enforceNodeAllocatable names {enforcement}", "give amounts")
