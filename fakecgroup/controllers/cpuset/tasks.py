"""What cpusets do to the affinity of tasks (kernel/cgroup/cpuset.c)."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.css import Css
from .state import CpusetState


def _online_within(css: CpusetState) -> int:
    """The online CPUs of a cpuset, or else of the nearest ancestor that has some (guarantee_online_cpus)."""
    above: CpusetState | None = css
    while above is not None:
        if above.effective_cpus & css.online_cpus:
            return above.effective_cpus & css.online_cpus
        above = above.parent
    return css.online_cpus


def _of_root(css: CpusetState) -> int:
    """The CPUs that no partition has, offline ones included."""
    return css.possible_cpus & ~css.top.partitioned


def allowed(css: CpusetState) -> int:
    """The CPUs that a task here may ask for (cpuset_cpus_allowed)."""
    if css.parent is not None or not css.kernel.at_least(6, 12):
        return _online_within(css)
    return _of_root(css) if _of_root(css) & css.online_cpus else css.possible_cpus


def update_tasks(css: CpusetState) -> None:
    """Give the tasks here the effective CPUs of their cpuset (update_tasks_cpumask)."""
    affinities = css.cgroup.hierarchy.membership.affinities
    if affinities is None:
        return
    new = _of_root(css) if css.parent is None and css.kernel.at_least(6, 12) else css.effective_cpus
    known: set[int] = set()
    while found := [tid for tid in movable_tasks(css) if tid not in known]:  # a task may fork in between
        known.update(found)
        for tid in found:
            affinities.set(tid, affinities.of(tid).within(new, css.online_cpus))


def attach_tasks(css: CpusetState, tids: Iterable[int], source: Css | None) -> None:
    """Give tasks that have come here the CPUs of this cpuset (cpuset_attach).

    From 6.12 on nothing happens if the first of them comes from a cpuset with the same CPUs and nodes.
    """
    affinities = css.cgroup.hierarchy.membership.affinities
    if affinities is None:
        return
    if css.on_dfl and css.kernel.at_least(6, 12) and isinstance(source, CpusetState) and _are_same(source, css):
        return
    if css.parent is not None:
        new = _online_within(css)
    else:
        new = _of_root(css) if css.kernel.at_least(6, 12) else css.possible_cpus
    for tid in tids:
        affinities.set(tid, affinities.of(tid).within(new, css.online_cpus))


def _are_same(one: CpusetState, other: CpusetState) -> bool:
    return (one.effective_cpus, one.effective_mems) == (other.effective_cpus, other.effective_mems)


def movable_tasks(css: CpusetState) -> list[int]:
    """The tasks of this cpuset: in its cgroup, and in those below that have no cpuset of their own.

    Threads of the kernel stay where they are.
    """
    hierarchy = css.cgroup.hierarchy
    found = []
    for cgroup in css.cgroups():
        for tid, tgid in hierarchy.members(cgroup):
            task = hierarchy.processes.find(tgid)
            if task is not None and task.movable:
                found.append(tid)
    return found
