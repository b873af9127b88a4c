"""The life of a cpuset: its start, checks of tasks that come in, its end."""

from __future__ import annotations

from collections.abc import Collection
from errno import EBUSY, ENOSPC, EPERM
from typing import TYPE_CHECKING

from ...credentials.capability import Capability
from ...refuse import refuse
from .domains import SchedulerDomains
from .hotplug import handle_hotplug
from .state import ROOT, CpusetState
from .tasks import adopt_task, attach_tasks

if TYPE_CHECKING:
    from ...core.cgroup import Cgroup
    from ...core.css import Css
    from ...credentials.caller import Caller
    from .rules import Rules


def rules_of(css: CpusetState, privileged: bool = True) -> Rules:
    """The rules of this kernel for CPUs, for a writer with or without CAP_SYS_ADMIN. The others' are not loaded."""
    if not css.on_dfl:
        from .rules import WholeTree

        return WholeTree(privileged)
    if css.kernel.at_least(7, 0):
        from .partition_v7_2 import UnclaimedPartitions

        return UnclaimedPartitions(privileged)
    if css.kernel.at_least(6, 12):
        from .partition_v6_12 import ExclusivePartitions

        return ExclusivePartitions(privileged)
    if css.kernel.at_least(6, 1):
        from .partition_v6_1 import InvalidPartitions

        return InvalidPartitions(privileged)
    from .partition_v5_10 import RefusedPartitions

    return RefusedPartitions(privileged)


class Cpuset(CpusetState):
    """The cpuset of one cgroup. The root's has all CPUs and nodes."""

    def online(self) -> None:
        """Start with the parent's effective sets on v2; on v1 with none, but for clone_children (cpuset_css_online)."""
        if self.parent is None:
            self.cpus = self.effective_cpus = self.exclusive_effective = self.possible_cpus
            self.mems = self.effective_mems = (1 << self.machine.numa_nodes) - 1
            self.cpu_exclusive = self.mem_exclusive = True
            self.partition = ROOT
            self.domains = SchedulerDomains(self.cpus)
            return
        parent = self.parent
        if self.on_dfl:
            self.effective_cpus, self.effective_mems = parent.effective_cpus, parent.effective_mems
            if not self.kernel.at_least(6, 12):
                self.follows_parent = True
            if not parent.sched_load_balance:
                self.sched_load_balance = False
            return
        self.spread_page, self.spread_slab = parent.spread_page, parent.spread_slab
        if self.cgroup.clone_children and not any(
            sibling.cpu_exclusive or sibling.mem_exclusive for sibling in parent.children()
        ):
            self.cpus = self.effective_cpus = parent.cpus
            self.mems = self.effective_mems = parent.mems

    def offline(self) -> None:
        """Give a partition's CPUs back (cpuset_css_killed; before 6.12 cpuset_css_offline)."""
        self.leaving = True
        self.alive = self.kernel.at_least(6, 12)
        if self.partition.valid:
            rules_of(self).set_partition(self, "member")
        self.alive = False

    def vet_offline(self, cpu: int) -> None:
        """Raises EBUSY on 6.12 for the last CPU of a domain with deadline servers (dl_bw_check_overflow)."""
        counts = self.on_dfl and self.kernel.at_least(6, 12) and not self.kernel.at_least(7, 0)
        if counts and self.domains.needs(cpu, self.online_cpus):
            raise refuse(EBUSY)

    def cpus_changed(self) -> None:
        """Bring the cpusets up to date after a CPU has come or gone (cpuset_handle_hotplug)."""
        handle_hotplug(self, rules_of(self))

    def attached(self, tids: Collection[int], source: Css | None) -> None:
        attach_tasks(self, tids, source)

    def started(self, tid: int) -> None:
        """5.10 leaves the CPUs of the task that has started it (cpuset_fork)."""
        if self.kernel.at_least(6, 1):
            attach_tasks(self, [tid], None)

    def adopted(self, tid: int) -> None:
        adopt_task(self, tid)

    def can_attach(self) -> None:
        """Check that a task would have a CPU, and on v1 a node (cpuset_can_attach). Raises ENOSPC."""
        if not self.on_dfl and not (self.cpus and self.mems):
            raise refuse(ENOSPC)
        if self.on_dfl and self.kernel.at_least(6, 1) and not self.effective_cpus:
            raise refuse(ENOSPC)

    def can_be_moved_by(self, tids: Collection[int], source: Cgroup, writer: Caller) -> None:
        """Check that the writer may move these tasks (cpuset_can_attach; security/commoncap.c, cap_safe_nice).

        Raises EPERM for a task with a permitted capability that the writer lacks, without CAP_SYS_NICE over it. On v2
        kernels from 6.12 on check only moves that change the CPUs or nodes.
        """
        if self.on_dfl and self.kernel.at_least(6, 12):
            left = source.effective_css("cpuset")
            sets = (self.effective_cpus, self.effective_mems)
            if isinstance(left, Cpuset) and (left.effective_cpus, left.effective_mems) == sets:
                return
        writers = writer.privileges()
        if writers.over_machine(Capability.SYS_NICE):
            return
        for tid in tids:
            task = self.cgroup.hierarchy.processes.privileges(tid)
            if task.permitted & ~writers.permitted and not writers.over_task(Capability.SYS_NICE, task):
                raise refuse(EPERM)
