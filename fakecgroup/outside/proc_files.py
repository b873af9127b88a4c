"""The texts of /proc/PID/cgroup, /proc/PID/cpuset and /proc/cgroups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.cgroup import Cgroup
from ..core.hierarchy import Hierarchy
from ..machine.personality import Personality
from ..tasks.processes import TaskInfo
from .namespace_paths import path_from
from .subsystems import bound, listed


def places(task: TaskInfo, cgroups: Sequence[Cgroup], roots: Sequence[Cgroup]) -> Iterator[tuple[Hierarchy, str]]:
    """The path that /proc/PID/cgroup shows for a task in each hierarchy.

    `cgroups` has the task's cgroup and `roots` the root of the reader's cgroup namespace, both per hierarchy.
    A zombie is shown in the root of a v1 hierarchy (proc_cgroup_show).
    """
    for cgroup, root in zip(cgroups, roots, strict=True):
        hierarchy = cgroup.hierarchy
        if hierarchy.dfl:
            yield hierarchy, path_from(root, cgroup) + ("" if cgroup.alive else " (deleted)")
        else:
            yield hierarchy, path_from(root, hierarchy.root if task.zombie else cgroup)


def cgroup_text(task: TaskInfo, cgroups: Sequence[Cgroup], roots: Sequence[Cgroup]) -> str:
    """/proc/PID/cgroup: the v1 hierarchies, the last one mounted first, then the unified one (proc_cgroup_show)."""
    v1: list[str] = []
    unified = ""
    for hierarchy, path in places(task, cgroups, roots):
        if hierarchy.dfl:
            unified = f"0::{path}\n"
        else:
            v1.append(f"{len(v1) + 1}:{hierarchy.label}:{path}\n")
    return "".join([*reversed(v1), unified])


def has_cpuset_text(personality: Personality) -> bool:
    """Whether the kernel has /proc/PID/cpuset: Debian's 7.2 has none."""
    return not personality.at_least(7, 2)


def cpuset_text(cgroups: Sequence[Cgroup], roots: Sequence[Cgroup]) -> str:
    """/proc/PID/cpuset: the cgroup whose cpuset the task has (proc_cpuset_show).

    `cgroups` and `roots` are as in `places`.
    """
    for root, cgroup in zip(roots, cgroups, strict=True):
        css = cgroup.effective_css("cpuset")
        if css is not None:
            return path_from(root, css.cgroup) + "\n"
    return "/\n"


def cgroups_text(hierarchies: Sequence[Hierarchy], personality: Personality) -> str:
    """/proc/cgroups: each subsystem, its hierarchy's number and number of cgroups (proc_cgroupstats_show)."""
    v1 = [hierarchy for hierarchy in hierarchies if not hierarchy.dfl]
    unified = next((_count(hierarchy) for hierarchy in hierarchies if hierarchy.dfl), 1)
    hierarchy_of = bound(hierarchies)
    lines = ["#subsys_name\thierarchy\tnum_cgroups\tenabled\n"]
    for name in listed(personality):
        hierarchy = hierarchy_of.get(name)
        number, count = (0, unified) if hierarchy is None else (v1.index(hierarchy) + 1, _count(hierarchy))
        lines.append(f"{name}\t{number}\t{count}\t1\n")
    return "".join(lines)


def _count(hierarchy: Hierarchy) -> int:
    """The cgroups of a hierarchy, its root included."""
    return 1 + sum(1 for _ in hierarchy.root.descendants())
