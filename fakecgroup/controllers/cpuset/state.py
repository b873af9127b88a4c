"""The state that the cpuset controller keeps per cgroup (kernel/cgroup/cpuset.c, struct cpuset).

Sets of CPUs and of memory nodes are ints, one bit each. Every node of the machine is online; CPUs come and go
(`hotplug`). `tasks` has what cpusets do to tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.css import Css
from ...named_tuple import NamedTuple
from .domains import SchedulerDomains

if TYPE_CHECKING:
    from ...core.cgroup import Cgroup


class Partition(NamedTuple):
    """The state of cpuset.cpus.partition: the kind that was written, and whether it is valid."""

    kind: str
    valid: bool

    @property
    def invalid(self) -> bool:
        """True for an invalid partition root; a member is neither valid nor invalid."""
        return not self.valid and self.kind != "member"

    def turned(self) -> Partition:
        """The same kind with the opposite validity; a member stays one."""
        return self if self.kind == "member" else Partition(self.kind, not self.valid)


MEMBER = Partition("member", False)
ROOT = Partition("root", True)


class CpusetState(Css):
    """The sets and flags of one cpuset, and its relatives."""

    cpus: int = 0  # as written to cpuset.cpus
    mems: int = 0
    effective_cpus: int = 0
    effective_mems: int = 0
    cpu_exclusive: bool = False  # v1's flag; on v2, set in valid partitions
    alive: bool = True
    leaving: bool = False  # its tasks are its parent's already
    sched_load_balance: bool = True  # v1's flag; on v2, cleared in isolated partitions
    # partitions
    partition: Partition = MEMBER
    reason: str = ""  # why it is invalid, in the kernel's words
    isolated: int = 0  # the root's: all CPUs in isolated partitions
    # up to 6.1
    subparts: int = 0  # CPUs given to partitions among the children
    follows_parent: bool = False  # none of its own CPUs is effective
    # from 6.12 on
    exclusive: int = 0  # as written to cpuset.cpus.exclusive
    exclusive_effective: int = 0
    remote: bool = False
    nr_subparts: int = 0  # local partitions among the children, by the kernel's count
    partitioned: int = 0  # the root's: all CPUs that partitions have taken from it (subpartitions_cpus)
    domains: SchedulerDomains  # the root's
    # v1
    mem_exclusive: bool = False
    mem_hardwall: bool = False
    memory_migrate: bool = False
    spread_page: bool = False
    spread_slab: bool = False
    relax_domain_level: int = -1
    memory_pressure_enabled: bool = False

    parent: CpusetState | None

    def __init__(self, cgroup: Cgroup, parent: Css | None) -> None:
        assert parent is None or isinstance(parent, CpusetState)
        super().__init__(cgroup, parent)

    @property
    def online_cpus(self) -> int:
        return self.cgroup.hierarchy.cpus.online

    @property
    def possible_cpus(self) -> int:
        return self.cgroup.hierarchy.cpus.possible

    def cgroups(self) -> Iterator[Cgroup]:
        """Its cgroup, and those below that have no cpuset of their own."""
        waiting = [self.cgroup]
        while waiting:
            cgroup = waiting.pop()
            yield cgroup
            for child in cgroup.children.values():
                css = child.csses.get("cpuset")
                if not isinstance(css, CpusetState) or css.leaving:
                    waiting.append(child)

    @property
    def above(self) -> CpusetState:
        """The parent; not for the root."""
        assert self.parent is not None
        return self.parent

    @property
    def top(self) -> CpusetState:
        css = self.cgroup.hierarchy.root.csses["cpuset"]
        assert isinstance(css, CpusetState)
        return css

    def children(self) -> Iterator[CpusetState]:
        """The cpusets of the child cgroups that are alive, oldest first."""
        for child in list(self.cgroup.children.values()):
            css = child.csses.get("cpuset")
            if isinstance(css, CpusetState) and css.alive:
                yield css

    def siblings(self) -> Iterator[CpusetState]:
        return (css for css in self.above.children() if css is not self)

    def has_own_tasks(self) -> bool:
        self.cgroup.hierarchy.prune(self.cgroup)
        return self.cgroup.is_root or bool(self.cgroup.tasks)

    def populated(self) -> bool:
        """True if there are live tasks in its cgroup or below (cgroup_is_populated)."""
        subtree = (self.cgroup, *self.cgroup.descendants())
        self.cgroup.hierarchy.prune(*(cgroup for cgroup in subtree if cgroup.tasks))
        return self.cgroup.is_root or self.cgroup.populated


def trial_of(css: CpusetState) -> CpusetState:
    """A copy to try a change on (alloc_trial_cpuset)."""
    trial = css.__class__.__new__(css.__class__)
    trial.__dict__.update(css.__dict__)
    return trial
