"""The subsystems of a kernel: those that v1 hierarchies are named by, and those that /proc/cgroups lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..controllers import CONTROLLERS
from ..core.hierarchy import Hierarchy
from ..machine.personality import Personality

# Each subsystem in the order of the kernel's table (include/linux/cgroup_subsys.h), the option that it is built by, and
# the option that its v1 files are built by.
_TABLE = (
    ("cpuset", None, "CPUSETS_V1"),
    ("cpu", None, None),
    ("cpuacct", None, None),
    ("blkio", None, None),
    ("memory", None, "MEMCG_V1"),
    ("devices", None, None),
    ("freezer", None, None),
    ("net_cls", "CGROUP_NET_CLASSID", None),
    ("perf_event", "CGROUP_PERF", None),
    ("net_prio", "CGROUP_NET_PRIO", None),
    ("hugetlb", "CGROUP_HUGETLB", None),
    ("pids", None, None),
    ("rdma", "CGROUP_RDMA", None),
    ("misc", "CGROUP_MISC", None),
)


def listed(personality: Personality) -> Iterator[str]:
    """The names in /proc/cgroups. Kernel 7.2 lists only those that a v1 hierarchy can be bound to."""
    for name, option, option_v1 in _TABLE:
        if personality.has(option) and (personality.has(option_v1) or not personality.at_least(7, 2)):
            yield name


def known(personality: Personality) -> frozenset[str]:
    """The subsystems that a kernel has for v1."""
    return frozenset(
        controller.legacy_name or controller.name
        for controller in CONTROLLERS
        if controller.legacy and personality.has(controller.config) and personality.has(controller.legacy_config)
    )


def bound(hierarchies: Sequence[Hierarchy]) -> dict[str, Hierarchy]:
    """The v1 hierarchy that each subsystem is bound to."""
    return {
        controller.legacy_name or controller.name: hierarchy
        for hierarchy in hierarchies
        if not hierarchy.dfl
        for controller in hierarchy.controllers.values()
    }
