"""A node: all inputs of the hierarchy besides the pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from cgroup_engine.kubelet.allocatable import allocatable, reported_allocatable, reservation
from cgroup_engine.kubelet.cpu_weight import Formula, ruled_weight
from cgroup_engine.kubelet.eviction_thresholds import EvictionConfig
from cgroup_engine.kubelet.memory_qos import MemoryReservationPolicy
from cgroup_engine.kubelet.oci_runtime import OciRuntime, assumed
from cgroup_engine.kubelet.swap import SwapBehavior
from cgroup_engine.model.hugepages import resource_of_page_size
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CfsQuota
from cgroup_engine.model.manager_state import CpuManagerState, MemoryManagerState
from cgroup_engine.model.names import CgroupName, Driver, Runtime
from cgroup_engine.model.pod import Resources
from cgroup_engine.model.quantity import Quantity, from_bytes, from_milli
from cgroup_engine.model.reason import Ruled
from cgroup_engine.model.wanted_cgroup import Level

CpuManagerPolicy = Literal["none", "static"]
MemoryManagerPolicy = Literal["None", "Static"]
TopologyManagerScope = Literal["container", "pod"]


@dataclass(frozen=True)
class NodeConfig:
    """All inputs of the hierarchy besides the pods.

    ``cpus``: number of CPUs. ``memory``, ``swap``: bytes. ``huge_pages``: bytes of a page -> bytes of such pages.
    ``max_pids``: tasks. ``max_pods``: the pods that a kubelet admits. ``pod_pids_limit``: tasks, or None for no limit.
    ``qos_reserved_memory``: percent, or None when off. ``eviction_memory``: the hard threshold, or None.
    ``eviction``: when pods are evicted for memory.
    ``memory_throttling_factor``: 0 to 1, or None for no memory.high.
    ``swap_behavior``: None if the kubelet tells the runtime nothing about swap. ``single_process_oom_kill``: None or
    False makes containers OOM groups on v2; a kubelet refuses False on v1. ``weight_formulas``: level -> formula of
    cpu.weight, for levels without the default one. ``oci_runtime``: what makes the containers' cgroups, or None for
    that of the kubelet's release date. ``sandboxes``: does the wanted tree show the pods' sandboxes?
    ``cpu_list``: all CPUs of the root, such as "0-3". ``default_tasks_max``: systemd's DefaultTasksMax in tasks, -1 for
    no limit, or None for the one that systemd has built in. ``cpu_manager_state``, ``memory_manager_state``: what the
    static policies have assigned, None if it is not known. ``topology_manager_scope``: "container" under the policy
    none.
    """

    cpus: int
    memory: int
    max_pids: int
    version: KubeletVersion = field(default_factory=KubeletVersion)
    runtime: Runtime = "containerd"
    driver: Driver = "cgroupfs"
    cgroup_root: CgroupName = ()
    enforce: frozenset[str] = frozenset({"pods"})
    kube_reserved: Resources = field(default_factory=dict)
    system_reserved: Resources = field(default_factory=dict)
    kube_reserved_cgroup: CgroupName = ()
    system_reserved_cgroup: CgroupName = ()
    kubelet_cgroups: CgroupName = ()
    system_cgroups: CgroupName = ()
    kubelet_oom_score_adj: int = -999
    eviction_memory: Quantity | None = None
    eviction: EvictionConfig = field(default_factory=EvictionConfig)
    qos_reserved_memory: int | None = None
    pod_pids_limit: int | None = None
    max_pods: int = 110
    cfs: CfsQuota = field(default_factory=CfsQuota)
    cpu_manager_policy: CpuManagerPolicy = "none"
    memory_manager_policy: MemoryManagerPolicy = "None"
    topology_manager_scope: TopologyManagerScope = "container"
    cpu_manager_state: CpuManagerState | None = None
    memory_manager_state: MemoryManagerState | None = None
    swap: int = 0
    huge_pages: Mapping[int, int] = field(default_factory=dict)
    memory_reservation_policy: MemoryReservationPolicy = "None"
    memory_throttling_factor: float | None = 0.9
    swap_behavior: SwapBehavior | None = None
    single_process_oom_kill: bool | None = None
    weight_formulas: Mapping[str, Formula] = field(default_factory=dict)
    oci_runtime: OciRuntime | None = None
    runtime_driver: Driver | None = None
    sandboxes: bool = False
    cgroup_version: Literal[1, 2] = 2
    cpu_list: str | None = None
    fail_cgroup_v1: bool = False
    default_tasks_max: int | None = None
    warnings: tuple[str, ...] = ()

    @property
    def all_cpus(self) -> str | None:
        """The list of all CPUs, if the kubelet writes it at node level, else None.

        It does so without a CPU manager since 1.32 (change 125923): systemd would disable the cpuset controller else.
        """
        return self.cpu_list if self.version.at_least(32) and self.cpu_manager_policy == "none" else None

    @property
    def scope_tasks(self) -> int | None:
        """pids.max of a container's scope where nobody sets it: systemd's DefaultTasksMax; None without scopes.

        It is 15% of the tasks that the machine may have, unless system.conf says otherwise. Seen of systemd 252.
        """
        if self.driver != "systemd" or self.misplaced:
            return None
        return self.max_pids * 15 // 100 if self.default_tasks_max is None else self.default_tasks_max

    @property
    def misplaced(self) -> bool:
        """Do containers land outside of their pods, as only the kubelet uses the systemd driver?"""
        return self.driver == "systemd" and self.runtime_driver == "cgroupfs"

    @property
    def capacity(self) -> Resources:
        """The node's capacity: cadvisor's amounts, and pids."""
        return {
            "cpu": from_milli(self.cpus * 1000),
            "memory": from_bytes(self.memory),
            **{resource_of_page_size(page): from_bytes(total) for page, total in self.huge_pages.items()},
            "pid": Quantity(self.max_pids * 10**9, "DecimalSI", (self.max_pids, 0)),
        }

    @cached_property
    def allocatable(self) -> Resources:
        """The amounts that all pods together may use (getNodeAllocatableInternalAbsolute)."""
        return allocatable(self.capacity, self.kube_reserved, self.system_reserved)

    def cpu_weight(self, shares: int, level: Level) -> Ruled[int]:
        """cpu.weight of a cgroup with these shares, by the formula of its level on this node."""
        return ruled_weight(shares, level, self.weight_formulas, self.used_oci_runtime)

    @cached_property
    def used_oci_runtime(self) -> OciRuntime:
        """The runtime whose formula the containers' cpu.weight has."""
        return self.oci_runtime or assumed(self.version, self.runtime)

    @property
    def reported(self) -> Resources:
        """The allocatable amounts in the node's status, which the scheduler uses; pids are not among them."""
        capacity = {name: amount for name, amount in self.capacity.items() if name != "pid"}
        kept = reservation(capacity, self.kube_reserved, self.system_reserved, self.eviction_memory)
        return reported_allocatable(capacity, kept)
