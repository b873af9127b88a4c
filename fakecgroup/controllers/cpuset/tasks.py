"""What cpusets do to the affinity of tasks (kernel/cgroup/cpuset.c)."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.css import Css
from ...tasks.affinity import Affinities, Affinity
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


def given(css: CpusetState) -> int:
    """The CPUs that a task gets by coming here (cpuset_attach_task)."""
    if css.parent is not None:
        return _online_within(css)
    return _of_root(css) if css.kernel.at_least(6, 12) else css.possible_cpus


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
    while found := [tid for tid in _tasks(css, affinities) if tid not in known]:  # a task may fork in between
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
    same = css.on_dfl and css.kernel.at_least(6, 12) and isinstance(source, CpusetState) and _are_same(source, css)
    new = given(css)
    for tid in tids:
        now = affinities.of(tid)
        affinities.set(tid, now if same else now.within(new, css.online_cpus))


def of_new_task(css: CpusetState, inherited: Affinity) -> Affinity:
    """The affinity of a task here that nobody was told of, whose maker had `inherited`, perhaps in another cpuset."""
    new = css.effective_cpus if css.parent is None and css.subparts else given(css)
    if not css.kernel.at_least(6, 2) and not inherited.mask & ~new:
        return inherited  # nobody remembers what was asked for, so this may be it
    return inherited.within(new, css.online_cpus)


def adopt_task(css: CpusetState, tid: int) -> None:
    """Keep a new task, whose maker may be in another cpuset, on the CPUs here (cpuset_fork)."""
    affinities = css.cgroup.hierarchy.membership.affinities
    if affinities is not None and not affinities.runs_within(tid, given(css)):
        affinities.set(tid, of_new_task(css, affinities.of(tid)))


def _are_same(one: CpusetState, other: CpusetState) -> bool:
    return (one.effective_cpus, one.effective_mems) == (other.effective_cpus, other.effective_mems)


def _tasks(css: CpusetState, affinities: Affinities) -> list[int]:
    """The tasks of this cpuset: in its cgroup, and in those below that have no cpuset of their own.

    Threads of the kernel stay where they are.
    """
    hierarchy = css.cgroup.hierarchy
    found = []
    for cgroup in css.cgroups():
        if cgroup.is_root and not affinities.whole_root:
            found += [tid for tid in affinities.tids() if hierarchy.cgroup_of(tid) is cgroup]
            continue
        for tid, tgid in hierarchy.members(cgroup):
            task = hierarchy.processes.find(tgid)
            if task is not None and task.movable:
                found.append(tid)
    return found
