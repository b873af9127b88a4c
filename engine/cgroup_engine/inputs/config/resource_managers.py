"""The CPU, memory and topology managers: settings with which a kubelet does not start.

Sources: NewManager of ``pkg/kubelet/cm/cpumanager/cpu_manager.go``, ``.../memorymanager/memory_manager.go`` and
``.../topologymanager/topology_manager.go``, ``policy_options.go`` beside the first and the last, and ``run`` of
``cmd/kubelet/app/server.go``. The options' releases come from the sources of 1.25 to 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.inputs.config.gates import is_on
from cgroup_engine.kubelet.allocatable import reservation
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.quantity import ZERO, Quantity

_Level = Literal["alpha", "beta", "stable"]

# option -> release 1.N -> its level from there on
_CPU_OPTIONS: dict[str, dict[int, _Level]] = {
    "align-by-socket": {25: "alpha"},
    "distribute-cpus-across-cores": {31: "alpha"},
    "distribute-cpus-across-numa": {24: "alpha", 33: "beta"},
    "full-pcpus-only": {24: "beta", 33: "stable"},
    "prefer-align-cpus-by-uncorecache": {32: "alpha", 34: "beta", 36: "stable"},
    "strict-cpu-reservation": {32: "alpha", 33: "beta", 35: "stable"},
}
_TOPOLOGY_OPTIONS: dict[str, dict[int, _Level]] = {
    "max-allowable-numa-nodes": {31: "beta", 35: "stable"},
    "prefer-closest-numa-nodes": {26: "alpha", 28: "beta", 32: "stable"},
}
_LEAST_NUMA_NODES = 8
_TRUTHS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")  # strconv.ParseBool


def check_cpu_manager(config: ConfigFields, node: NodeConfig) -> None:
    """Refuses the static policy without reserved CPUs, and options that the policy or the release does not take.

    :raises ConfigError: one is refused.
    """
    if not is_on(config.version, "CPUManager", or_since=26):
        return
    options = _options(config, "cpuManagerPolicyOptions")
    if options is not None and not is_on(config.version, "CPUManagerPolicyOptions"):
        config.refuse(
            "cpuManagerPolicyOptions", "needs a feature gate", "set featureGates.CPUManagerPolicyOptions: true"
        )
    if node.cpu_manager_policy != "static":
        if options:
            config.refuse("cpuManagerPolicyOptions", "is refused with cpuManagerPolicy none", "leave it out")
        return
    _check_options(config, "cpuManagerPolicyOptions", "CPUManagerPolicy", _CPU_OPTIONS, options or {})
    aligned = (options or {}).get("align-by-socket") in _TRUTHS[:6]
    if aligned and config.text("topologyManagerPolicy", "") == "single-numa-node":
        config.refuse("cpuManagerPolicyOptions.align-by-socket", "excludes single-numa-node", "use one of them")
    reserved = node.kube_reserved.get("cpu", ZERO) + node.system_reserved.get("cpu", ZERO)
    if reserved.is_zero():
        config.refuse(
            "cpuManagerPolicy",
            "static needs reserved CPUs",
            "give reservedSystemCPUs, or cpu in kubeReserved or systemReserved",
        )


def check_topology_manager(config: ConfigFields) -> None:
    """Refuses options that the release does not take. 1.26 brought them; the policy none ignores them since 1.27.

    :raises ConfigError: one is refused.
    """
    options = _options(config, "topologyManagerPolicyOptions")
    if not config.version.at_least(26) or options is None:
        return
    if not is_on(config.version, "TopologyManagerPolicyOptions"):
        config.refuse(
            "topologyManagerPolicyOptions",
            "needs a feature gate",
            "set featureGates.TopologyManagerPolicyOptions: true",
        )
    if config.text("topologyManagerPolicy", "") not in ("", "none"):
        _check_options(config, "topologyManagerPolicyOptions", "TopologyManagerPolicy", _TOPOLOGY_OPTIONS, options)


def check_reserved_memory(config: ConfigFields, node: NodeConfig) -> None:
    """Refuses reservedMemory that names something else than memory, nothing, or the same twice.

    With the static policy the sum of all NUMA nodes is what kubeReserved, systemReserved and evictionHard keep, above
    zero. How many NUMA nodes the machine has is not known here.

    :raises ConfigError: it is refused.
    """
    totals: dict[str, Quantity] = {}
    seen = set()
    for numa, resource, raw in _reserved_memory(config):
        spot = f"reservedMemory of NUMA node {numa}"
        if resource != "memory" and not resource.startswith(PREFIX):
            config.refuse(spot, f"{quoted(resource)} is not supported", "use memory, or hugepages-SIZE")
        amount = config.amount(raw, f"{spot}: {resource}" if resource.isprintable() else spot)
        if amount.is_zero():
            config.refuse(spot, f"{resource} is zero", "leave it out")
        if (numa, resource) in seen:
            config.refuse(spot, f"{resource} is there twice", "give one amount")
        seen.add((numa, resource))
        totals[resource] = totals.get(resource, ZERO) + amount
    if node.memory_manager_policy != "Static" or not is_on(config.version, "MemoryManager", or_since=32):
        return
    capacity = {"memory": node.capacity["memory"]}
    kept = reservation(capacity, node.kube_reserved, node.system_reserved, node.eviction_memory)
    for resource in sorted({*totals, "memory"}):
        if resource == "memory" or resource.startswith(PREFIX):
            _check_sum(config, resource, totals.get(resource, ZERO), kept.get(resource, ZERO))


def _check_sum(config: ConfigFields, resource: str, total: Quantity, kept: Quantity) -> None:
    if total.nano != kept.nano:
        config.refuse(
            "reservedMemory",
            f"has {total} of {resource} in sum, and kubeReserved, systemReserved and evictionHard keep {kept}",
            "make them equal",
        )
    elif total.is_zero():
        config.refuse("memoryManagerPolicy", "Static needs reserved memory", "give reservedMemory and what it equals")


def _reserved_memory(config: ConfigFields) -> list[tuple[int, str, Any]]:
    """NUMA node, resource and amount of each row of reservedMemory."""
    listed = config.fields.get("reservedMemory")
    if listed is None:
        return []
    rows = []
    for entry in listed if isinstance(listed, list) else [None]:
        limits = entry.get("limits") if isinstance(entry, dict) else None
        numa = entry.get("numaNode", 0) if isinstance(entry, dict) else None
        if not isinstance(limits, (dict, type(None))) or not isinstance(numa, int) or isinstance(numa, bool):
            raise config.error("reservedMemory", "is not a list of numaNode and limits", "correct it")
        rows += [(numa, str(resource), raw) for resource, raw in (limits or {}).items()]
    return rows


def _options(config: ConfigFields, name: str) -> Mapping[str, Any] | None:
    """The options of a policy; None without the field."""
    return None if config.fields.get(name) is None else config.mapping(name)


def _check_options(
    config: ConfigFields, field: str, gate: str, known: Mapping[str, Mapping[int, _Level]], options: Mapping[str, Any]
) -> None:
    for name, value in options.items():
        spot = f"{field}.{name}" if isinstance(name, str) and name.isprintable() and len(name) <= 80 else field
        levels = [level for since, level in known.get(name, {}).items() if config.version.at_least(since)]
        if not levels:
            config.refuse(spot, f"kubelet {config.version} does not know this option", "leave it out")
            continue
        needed = f"{gate}{levels[-1].capitalize()}Options"
        if levels[-1] != "stable" and not is_on(config.version, needed):
            config.refuse(spot, "needs a feature gate", f"set featureGates.{needed}: true")
        if name == "max-allowable-numa-nodes":
            number = isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value, re.ASCII)
            if not number or int(value) < _LEAST_NUMA_NODES:
                config.refuse(
                    spot, f"{quoted(value)} is no number from {_LEAST_NUMA_NODES} on, as a text", "correct it"
                )
        elif value not in _TRUTHS or not isinstance(value, str):
            config.refuse(spot, f"{quoted(value)} is neither true nor false, as a text", 'write "true" or "false"')
