"""The effects of a written set or flag. Partitions are in `partition_vX_Y`: each generation of kernels has its own."""

from __future__ import annotations

from errno import EINVAL

from ...refuse import refuse
from .state import CpusetState, Partition, trial_of
from .tasks import update_tasks
from .validate import validate_change


class Rules:
    """The rules of one generation of kernels. `privileged`: the writer has CAP_SYS_ADMIN."""

    def __init__(self, privileged: bool = True) -> None:
        self.privileged = privileged

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus to other CPUs. Raises what `validate_change` does."""
        raise NotImplementedError

    def set_exclusive(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus.exclusive to other CPUs. Raises what `validate_change` does, EINVAL."""
        raise refuse(EINVAL)

    def set_partition(self, css: CpusetState, kind: str) -> None:
        """Set the kind of the partition: `member`, `root` or `isolated`. Raises EINVAL, EBUSY if the kernel refuses."""
        raise refuse(EINVAL)

    def resize_root(self, top: CpusetState) -> bool:
        """Give the root the CPUs that are online now. False if nothing has changed for anybody."""
        raise NotImplementedError

    def follow_hotplug(self, css: CpusetState) -> None:
        """Bring a cpuset other than the root up to date, whose parent is (cpuset_hotplug_update_tasks)."""
        raise NotImplementedError

    def end_hotplug(self, top: CpusetState) -> None:
        """Do what is left when all cpusets are up to date."""


class PartitionRules(Rules):
    """v2: effective CPUs are computed down the tree."""

    def _update_tree(self, css: CpusetState, force: bool = False) -> None:
        """Update the effective CPUs of a cpuset and of those below (update_cpumasks_hier)."""
        stack = [css]
        while stack:
            member = stack.pop()
            if member.alive and self._update(member, member is css, force):
                stack.extend(reversed(list(member.children())))

    def _update(self, css: CpusetState, changed: bool, force: bool) -> bool:
        """Update one cpuset; `changed`: it was written to. False if nothing changes from here down."""
        raise NotImplementedError

    @staticmethod
    def _take_effective(css: CpusetState, cpus: int) -> None:
        """Make these CPUs effective after a hotplug, for its tasks too (hotplug_update_tasks).

        If there are none a cpuset has its parent's, unless it is a partition of a kernel from 6.1 on.
        """
        changed = cpus != css.effective_cpus
        stays_empty = css.partition.valid and css.kernel.at_least(6, 1)
        css.effective_cpus = cpus if cpus or stays_empty else css.above.effective_cpus
        if changed:
            update_tasks(css)


class WholeTree(Rules):
    """v1: written CPUs are effective, because a child never has more than its parent."""

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        trial = trial_of(css)
        trial.cpus = cpus
        validate_change(css, trial)
        css.cpus = css.effective_cpus = cpus
        update_tasks(css)

    def resize_root(self, top: CpusetState) -> bool:
        changed = top.effective_cpus != top.online_cpus
        top.cpus = top.effective_cpus = top.online_cpus
        return changed

    def follow_hotplug(self, css: CpusetState) -> None:
        """Take away the CPUs that the parent has lost. Without one its tasks move to an ancestor that has some
        (hotplug_update_tasks_legacy, remove_tasks_in_empty_cpuset).
        """
        cpus = css.cpus & css.above.effective_cpus
        changed = cpus != css.effective_cpus
        css.cpus = css.effective_cpus = cpus
        if cpus and css.mems:
            if changed:
                update_tasks(css)
            return
        target = css.above
        while not (target.cpus and target.mems):
            target = target.above
        hierarchy = css.cgroup.hierarchy
        for tid, tgid in hierarchy.members(css.cgroup):
            hierarchy.membership.migrate([tid], tgid, target.cgroup)


def set_mems(css: CpusetState, mems: int) -> None:
    """Set cpuset.mems to other nodes (update_nodemask). Raises what `validate_change` does."""
    trial = trial_of(css)
    trial.mems = mems
    validate_change(css, trial)
    css.mems = mems
    changed = [css]
    while changed:
        member = changed.pop()
        effective = member.mems & member.above.effective_mems
        if not effective and member.on_dfl:
            effective = member.above.effective_mems
        if effective != member.effective_mems:
            member.effective_mems = effective
            changed.extend(member.children())


def set_flag(css: CpusetState, name: str, value: bool) -> None:
    """Set a flag (update_flag). Raises what `validate_change` does."""
    trial = trial_of(css)
    setattr(trial, name, value)
    validate_change(css, trial)
    setattr(css, name, value)


def become_exclusive(css: CpusetState, exclusive: bool) -> bool:
    """Set or clear cpu_exclusive, which keeps CPUs from siblings. False if `validate_change` refuses it."""
    try:
        set_flag(css, "cpu_exclusive", exclusive)
    except OSError:
        return False
    return True


def notify_partition(css: CpusetState, before: Partition) -> None:
    """Notify of cpuset.cpus.partition if its state has changed (notify_partition_change)."""
    if css.partition != before:
        css.cgroup.notify("cpuset.cpus.partition")
        if css.partition.valid:
            css.reason = ""
