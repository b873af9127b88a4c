"""Checks of a change against the parent, children and siblings (kernel/cgroup/cpuset.c, validate_change).

`trial` is a copy of the cpuset with the change. The checks are in the order of each kernel.
"""

from __future__ import annotations

from errno import EACCES, EBUSY, EINVAL, ENOSPC

from ...refuse import refuse
from .state import ROOT, CpusetState


def contains(outer: CpusetState, inner: CpusetState) -> bool:
    """True if `outer` has all CPUs, nodes and exclusive flags of `inner` (is_cpuset_subset)."""
    return (
        not inner.cpus & ~outer.cpus
        and not inner.mems & ~outer.mems
        and inner.cpu_exclusive <= outer.cpu_exclusive
        and inner.mem_exclusive <= outer.mem_exclusive
    )


def validate_change(css: CpusetState, trial: CpusetState) -> None:
    """Check a change.

    Raises EBUSY if a child has what is taken away (on v1; on v2 before 6.1), EACCES for more than a v1 parent has,
    ENOSPC to empty a set that tasks use (before 7.0), EBUSY to empty a partition (from 6.12 on), EINVAL for CPUs or
    nodes that a sibling has exclusively.
    """
    kernel, on_dfl = css.kernel, css.on_dfl
    if (not on_dfl or not kernel.at_least(6, 1)) and not all(contains(trial, child) for child in css.children()):
        raise refuse(EBUSY)
    if css.parent is None:
        return
    if not on_dfl and not contains(css.parent, trial):
        raise refuse(EACCES)
    if not kernel.at_least(6, 1):
        _check_siblings(css, trial)
    _check_tasks(css, trial)
    _check_bandwidth(css, trial)
    if kernel.at_least(6, 1):
        _check_siblings(css, trial)


def _check_tasks(css: CpusetState, trial: CpusetState) -> None:
    emptied = (css.cpus and not trial.cpus) or (css.mems and not trial.mems)
    if emptied and not css.kernel.at_least(7, 0) and css.populated():
        raise refuse(ENOSPC)


def _check_bandwidth(css: CpusetState, trial: CpusetState) -> None:
    """Check that a partition's deadline servers keep a CPU (cpuset_cpumask_can_shrink). Raises EBUSY."""
    if not css.on_dfl or not css.kernel.at_least(6, 12) or not css.cpu_exclusive:
        return
    if css.kernel.at_least(7, 0):
        left = (trial.exclusive or trial.cpus) & css.online_cpus
        refused = css.partition == ROOT and css.effective_cpus and not left
    else:
        refused = css.cpus and not trial.cpus & css.online_cpus and css.top.domains.reserved(css.cpus)
    if refused:
        raise refuse(EBUSY)


def _check_siblings(css: CpusetState, trial: CpusetState) -> None:
    for sibling in css.siblings():
        if _cpus_collide(css, trial, sibling):
            raise refuse(EINVAL)
        if (trial.mem_exclusive or sibling.mem_exclusive) and trial.mems & sibling.mems:
            raise refuse(EINVAL)


def _cpus_collide(css: CpusetState, trial: CpusetState, sibling: CpusetState) -> bool:
    if css.on_dfl and css.kernel.at_least(7, 0):
        changed = css.exclusive != trial.exclusive
        if changed and sibling.cpus and not sibling.cpus & ~trial.exclusive:
            return True
        return bool(trial.exclusive & sibling.exclusive)
    if trial.cpu_exclusive or sibling.cpu_exclusive or (trial.exclusive and sibling.exclusive):
        return bool((trial.exclusive or trial.cpus) & (sibling.exclusive or sibling.cpus))
    # one of the two claims exclusive CPUs: the other must keep some of its own
    if trial.exclusive:
        return sibling.cpus != 0 and not sibling.cpus & ~trial.exclusive
    if sibling.exclusive:
        return trial.cpus != 0 and not trial.cpus & ~sibling.exclusive
    return False
