"""A node, from its size and the fields of a KubeletConfiguration that cgroups depend on.

Defaults and checks follow ``pkg/kubelet/apis/config/v1beta1/defaults.go`` and ``.../config/validation``. Other fields
are ignored. ``NodeConfig.warnings`` names the fields that concern cgroups and that this engine does not act on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cgroup_engine.errors import ConfigError, UnsafeNameError
from cgroup_engine.inputs.config.cgroup_names import driver_of, plain_cgroup, reserved_cgroup, system_cgroups
from cgroup_engine.inputs.config.checks import warn_of_fields
from cgroup_engine.inputs.config.cpu import cfs_quota, cpu_manager_policy, topology_manager_scope
from cgroup_engine.inputs.config.eviction import check_eviction, eviction_config, eviction_memory
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.inputs.config.gates import check_gates
from cgroup_engine.inputs.config.memory import (
    kubelet_oom_score_adj,
    memory_manager_policy,
    memory_reservation_policy,
    memory_throttling_factor,
    pod_pids_limit,
    qos_reserved_memory,
    single_process_oom_kill,
    swap_behavior,
)
from cgroup_engine.inputs.config.ranges import check_ranges, max_pods
from cgroup_engine.inputs.config.reservations import both_reserved, check_reserved, enforced
from cgroup_engine.inputs.config.resource_managers import (
    check_cpu_manager,
    check_reserved_memory,
    check_topology_manager,
)
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import Driver, Runtime, components, kubepods_name, parse_cgroupfs


def node_config(
    fields: Mapping[str, Any],
    where: str,
    *,
    version: KubeletVersion,
    cpus: int,
    memory: int,
    max_pids: int,
    swap: int = 0,
    huge_pages: Mapping[int, int] | None = None,
    driver: Driver | None = None,
    runtime: Runtime = "containerd",
    runtime_driver: Driver | None = None,
    swap_is_on: bool = False,
    accept_invalid: bool = False,
) -> NodeConfig:
    """A node with the given size and configuration fields; ``driver`` overrides cgroupDriver.

    ``runtime_driver``: the runtime's cgroup driver; None: the kubelet's, as it should be. (Since 1.31 kubelets ask the
    runtime for its driver: gate KubeletCgroupDriverFromCRI.)
    ``swap_is_on``: does the machine have swap, with which a kubelet starts only if failSwapOn is false?
    ``accept_invalid``: only warns of most of what a kubelet would refuse.

    :raises ConfigError: a kubelet would refuse a field's value, more is reserved than the capacity, or no container
        can start with these drivers.
    """
    size = NodeConfig(cpus, memory, max_pids, version, runtime, swap=swap, huge_pages=huge_pages or {})
    config = ConfigFields(fields, where, version, accept_invalid=accept_invalid)
    if swap_is_on and config.flag("failSwapOn", True):  # NewContainerManager
        config.refuse("failSwapOn", "is true, and the machine has swap", "set failSwapOn: false")
    node = replace(_read(config, size, driver), runtime_driver=runtime_driver)
    if runtime_driver not in (None, node.driver) and not (node.misplaced and runtime == "containerd"):
        raise ConfigError(
            f"{where}: the kubelet's driver is {node.driver} and {runtime}'s is {runtime_driver}: no container starts",
            todo="give both the same",
        )
    return node


def _read(config: ConfigFields, size: NodeConfig, driver: Driver | None) -> NodeConfig:
    check_gates(config)
    warn_of_fields(config)
    check_ranges(config)
    if not config.flag("cgroupsPerQOS", True):
        raise config.error("cgroupsPerQOS", "is false, so the kubelet makes no hierarchy", "set it to true")
    driver = driver or driver_of(config)
    try:
        cgroup_root = parse_cgroupfs(config.text("cgroupRoot", ""))
        components(kubepods_name(cgroup_root), driver)
    except UnsafeNameError as refused:
        raise config.error("cgroupRoot", refused.message, refused.todo, refused.value) from None
    check_eviction(config)
    eviction = eviction_memory(config, size.memory)
    enforce = enforced(config)
    kube_reserved, system_reserved = both_reserved(config, size.cpus)
    node = replace(
        size,
        driver=driver,
        cgroup_root=cgroup_root,
        enforce=enforce,
        kube_reserved=kube_reserved,
        system_reserved=system_reserved,
        kube_reserved_cgroup=reserved_cgroup(config, "kubeReservedCgroup", driver, enforce),
        system_reserved_cgroup=reserved_cgroup(config, "systemReservedCgroup", driver, enforce),
        kubelet_cgroups=plain_cgroup(config, "kubeletCgroups"),
        system_cgroups=system_cgroups(config),
        kubelet_oom_score_adj=kubelet_oom_score_adj(config),
        eviction_memory=eviction,
        eviction=eviction_config(config, enforce),
        qos_reserved_memory=qos_reserved_memory(config),
        pod_pids_limit=pod_pids_limit(config),
        max_pods=max_pods(config, size.cpus),
        cfs=cfs_quota(config),
        cpu_manager_policy=cpu_manager_policy(config),
        memory_manager_policy=memory_manager_policy(config),
        topology_manager_scope=topology_manager_scope(config),
        memory_reservation_policy=memory_reservation_policy(config),
        memory_throttling_factor=memory_throttling_factor(config),
        swap_behavior=swap_behavior(config),
        single_process_oom_kill=single_process_oom_kill(config),
        # default true since 1.35 (KEP-5573); the field exists since 1.31
        fail_cgroup_v1=config.version.at_least(31) and config.flag("failCgroupV1", config.version.at_least(35)),
    )
    check_reserved(config, node)
    check_topology_manager(config)
    check_cpu_manager(config, node)
    check_reserved_memory(config, node)
    return replace(node, warnings=tuple(config.warnings))
