"""Node allocatable: the part of the node that is left for pods, and the limits of the node-level cgroups.

Sources: ``pkg/kubelet/cm/node_container_manager_linux.go`` (getNodeAllocatableInternalAbsolute, getCgroupConfig,
enforceNodeAllocatableCgroups, GetNodeAllocatableReservation, validateNodeAllocatable),
``pkg/kubelet/cm/container_manager.go`` (hardEvictionReservation).

Amounts are keyed by resource name: ``cpu`` (cores), ``memory`` (bytes), ``pid`` (tasks).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cgroup_engine.kubelet.shares import milli_to_shares
from cgroup_engine.model.hugepages import PREFIX, page_size_of_resource
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.pod import Resources
from cgroup_engine.model.quantity import ZERO, Quantity


def allocatable(capacity: Resources, kube_reserved: Resources, system_reserved: Resources) -> Resources:
    """Capacity minus system-reserved minus kube-reserved, never below zero.

    Neither the hard eviction threshold nor the huge pages are subtracted: they lower only what the node reports.
    """
    left: dict[str, Quantity] = {}
    for name, amount in capacity.items():
        left[name] = _not_below_zero(amount - system_reserved.get(name, ZERO) - kube_reserved.get(name, ZERO))
    return left


def reservation(
    capacity: Resources, kube_reserved: Resources, system_reserved: Resources, eviction_memory: Quantity | None
) -> Resources:
    """The amounts that the scheduler keeps from pods: both reservations and the hard memory eviction threshold."""
    kept: dict[str, Quantity] = {}
    for name in capacity:
        amount = system_reserved.get(name, ZERO) + kube_reserved.get(name, ZERO)
        if name == "memory" and eviction_memory is not None:
            amount = amount + eviction_memory
        if not amount.is_zero():
            kept[name] = amount
    return kept


def reported_allocatable(capacity: Resources, kept: Resources) -> Resources:
    """The allocatable amounts in the node's status: capacity minus ``reservation``, never below zero.

    Memory is also lowered by all huge pages. Source: MachineInfo of ``pkg/kubelet/nodestatus/setters.go``.
    """
    left = {name: _not_below_zero(amount - kept.get(name, ZERO)) for name, amount in capacity.items()}
    for name, amount in capacity.items():
        if name.startswith(PREFIX) and "memory" in left:
            left["memory"] = _not_below_zero(left["memory"] - amount)
    return left


def _not_below_zero(amount: Quantity) -> Quantity:
    return amount if amount.sign() >= 0 else ZERO


def over_reserved(capacity: Resources, kept: Resources) -> list[str]:
    """The resources whose reservation exceeds the capacity; a kubelet does not start with any."""
    return [name for name, amount in kept.items() if amount.nano > capacity[name].nano]


def node_limits(amounts: Mapping[str, Quantity], *, compressible_only: bool = False) -> CgroupLimits:
    """getCgroupConfig: amounts as the values of a node-level cgroup.

    ``compressible_only`` (system-reserved-compressible, kube-reserved-compressible): CPU alone.
    """
    cpu, memory, pids = amounts.get("cpu"), amounts.get("memory"), amounts.get("pid")
    shares = milli_to_shares(cpu.milli_value()) if cpu is not None else None
    if compressible_only:
        return CgroupLimits(shares=shares)
    return CgroupLimits(
        shares=shares,
        memory=memory.value() if memory is not None else None,
        pids=pids.value() if pids is not None else None,
        hugepages=huge_page_limits(amounts),
    )


def reserved_limits(
    amounts: Resources, page_sizes: Iterable[int], *, compressible_only: bool = False, memory_qos: bool = False
) -> CgroupLimits:
    """The values of kubeReservedCgroup or systemReservedCgroup (enforceExistingCgroup).

    Huge pages cannot be reserved, so their limit is 0 (maybeSetHugetlb). With the gate MemoryQoS memory.min protects
    the memory, on cgroup v2.
    """
    limits = node_limits(amounts, compressible_only=compressible_only)
    none = dict.fromkeys(page_sizes, 0)
    return replace(limits, hugepages={**none, **limits.hugepages}, memory_min=limits.memory if memory_qos else None)


def huge_page_limits(amounts: Resources) -> dict[int, int]:
    """HugePageLimits: the amounts of huge pages, bytes of a page -> bytes."""
    return {page_size_of_resource(name): amount.value() for name, amount in amounts.items() if name.startswith(PREFIX)}
