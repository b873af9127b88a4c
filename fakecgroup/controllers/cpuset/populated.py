"""Tasks that would be without a CPU if partitions below took all (kernel/cgroup/cpuset.c, partition_is_populated)."""

from __future__ import annotations

from .state import CpusetState


def populated_outside_partitions(css: CpusetState, leaving: CpusetState | None = None) -> bool:
    """True if there are tasks here or below, outside of partitions below and of `leaving` itself."""
    if css.has_own_tasks():
        return True
    below = list(css.children())
    while below:
        member = below.pop()
        if member is leaving:
            below.extend(member.children())
        elif not member.partition.valid and member.populated():
            return True
    return False
