"""Exclusive CPUs, from 6.12 on: claims, grants, and tasks that would lose their last CPU."""

from __future__ import annotations

from .populated import populated_outside_partitions
from .state import CpusetState


def claimed(css: CpusetState) -> int:
    """The CPUs that a cpuset claims for itself (user_xcpus)."""
    return css.exclusive or css.cpus


def granted(css: CpusetState) -> int:
    """The claimed CPUs that a partition gets (compute_effective_exclusive_cpumask; compute_excpus from 7.0 on).

    These are the parent's exclusive ones; without cpuset.cpus.exclusive, only those that no sibling holds.
    """
    cpus = claimed(css) & css.above.exclusive_effective
    return cpus if css.exclusive else without_siblings(css, cpus)[0]


def without_siblings(css: CpusetState, cpus: int) -> tuple[int, bool]:
    """`cpus` without those that siblings hold, and whether there were any."""
    conflict = False
    for sibling in css.siblings():
        held = sibling.exclusive if cpus & sibling.exclusive else sibling.exclusive_effective
        conflict |= bool(cpus & held)
        cpus &= ~held
    return cpus, conflict


def partition_populated(css: CpusetState, leaving: CpusetState | None = None) -> bool:
    """True if there are tasks here or below, outside of partitions below and of `leaving` itself
    (partition_is_populated).

    If no child is a local partition, 6.12 counts all tasks below, those of a remote partition too.
    """
    if leaving is None and not css.nr_subparts and not css.kernel.at_least(7, 0):
        return css.populated()
    return populated_outside_partitions(css, leaving)


def leaves_tasks_without_cpu(parent: CpusetState, css: CpusetState, cpus: int) -> bool:
    """True if with `cpus` in the partition `css`, it or its parent would have tasks but no CPU (tasks_nocpu_error)."""
    takes_all = not parent.effective_cpus & ~cpus
    has_none = not cpus & css.online_cpus
    return (takes_all and partition_populated(parent, css)) or (has_none and partition_populated(css))
