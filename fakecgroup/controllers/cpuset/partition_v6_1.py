"""Partitions on 6.1: an impossible partition is invalid, with a reason (kernel/cgroup/cpuset.c)."""

from __future__ import annotations

from copy import copy
from errno import EINVAL

from .rules import become_exclusive, notify_partition
from .state import MEMBER, CpusetState, Partition
from .subparts import SetAside, effective_within
from .validate import validate_change

INVALID_CPUS = "Invalid cpu list in cpuset.cpus"
INVALID_PARENT = "Parent is an invalid partition root"
NO_PARTITION_PARENT = "Parent is not a partition root"
NOT_EXCLUSIVE = "Cpu list in cpuset.cpus not exclusive"
NO_CPUS = "Parent unable to distribute cpu downstream"
EMPTY = "cpuset.cpus is empty"


def partition_populated(css: CpusetState, leaving: CpusetState | None = None) -> bool:
    """True if there are tasks here, or in a child that is no partition and not `leaving` (partition_is_populated)."""
    if css.has_own_tasks():
        return True
    if leaving is None and not css.subparts:
        return css.populated()
    return any(child.populated() for child in css.children() if child is not leaving and not child.partition.valid)


def parent_fault(css: CpusetState) -> str:
    """Why the parent can give no CPUs; "" if it can."""
    if css.above.partition.valid:
        return ""
    return INVALID_PARENT if css.above.partition.invalid else NO_PARTITION_PARENT


class InvalidPartitions(SetAside):
    """The rules of 6.1."""

    # -- the partition and its parent (update_parent_subparts_cpumask) ------------------------------

    def _enable(self, css: CpusetState) -> str:
        """Set CPUs of the parent aside. Returns the reason why not, or ""."""
        parent = css.above
        fault = parent_fault(css)
        if fault:
            return fault
        if not css.cpus & parent.cpus:
            return INVALID_CPUS
        if not parent.effective_cpus & ~css.cpus and partition_populated(parent, css):
            return NO_CPUS
        self._move(parent, taken=css.cpus, given=0)
        return ""

    def _disable(self, css: CpusetState) -> None:
        if not parent_fault(css) and css.cpus and css.partition.valid:
            self._move(css.above, taken=0, given=css.cpus & css.above.subparts)

    def _invalidate(self, css: CpusetState) -> None:
        """Make a partition invalid whose CPUs others have now."""
        if parent_fault(css) or not css.cpus or css.partition.invalid:
            return
        self._settle(css, NOT_EXCLUSIVE, given=css.cpus & css.above.subparts)

    def _resize(self, css: CpusetState, cpus: int) -> None:
        """Give the partition `cpus`, which makes it valid or invalid (partcmd_update)."""
        parent = css.above
        if parent_fault(css) or not cpus:
            return
        given = css.cpus & ~cpus & parent.subparts
        taken = cpus & parent.cpus & ~parent.subparts
        if taken and not parent.effective_cpus & ~taken and not given and partition_populated(parent, css):
            self._settle(css, NO_CPUS, given=css.cpus & parent.subparts)
        else:
            self._settle(css, "", given=given, taken=taken)

    def _revise(self, css: CpusetState) -> None:
        """Make the partition valid or invalid after a change of its parent."""
        parent = css.above
        if parent_fault(css) or not css.cpus:
            return
        taken = css.cpus & parent.cpus & ~parent.subparts
        takes_all = taken and not parent.effective_cpus & ~taken and partition_populated(parent, css)
        if takes_all or (css.partition.valid and not parent.subparts):
            self._settle(css, NO_CPUS, given=css.cpus & parent.subparts if css.partition.valid else 0)
        else:
            self._settle(css, "", taken=taken)

    def _settle(self, css: CpusetState, reason: str, *, given: int = 0, taken: int = 0) -> None:
        """Move CPUs between the parent and the partition, and make it invalid with a `reason`, valid without."""
        old = css.partition
        if reason:
            css.reason = reason
        new = old.turned() if old.valid == bool(reason) else old
        if not given and not taken and new == old:
            return
        if new != old:
            if old.invalid and not css.cpu_exclusive and not become_exclusive(css, True):
                return
            if new.invalid and css.cpu_exclusive:
                become_exclusive(css, False)
        self._move(css.above, taken=taken, given=given)
        css.partition = new
        notify_partition(css, old)

    # -- down the tree ----------------------------------------------------------------------------

    def _update(self, css: CpusetState, changed: bool, force: bool) -> bool:
        parent, old = css.above, css.partition
        effective = effective_within(css, css.cpus)
        gave_all_away = not effective and old.valid and css.cpus == css.subparts
        if not gave_all_away:
            css.follows_parent = not effective
            effective = effective or parent.effective_cpus
            if old == MEMBER and not force and effective == css.effective_cpus:
                return False
        new = old
        if not changed and old != MEMBER:
            if parent.partition.valid:
                self._revise(css)
                new = css.partition
            else:
                new = old.turned() if old.valid else old
                css.reason = parent_fault(css)
        if css.subparts and not new.valid:
            effective |= css.subparts
            css.subparts = 0
        css.effective_cpus = effective & ~css.subparts
        css.partition = new
        notify_partition(css, old)
        return True

    # -- writes ----------------------------------------------------------------------------------

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus (update_cpumask). CPUs that a sibling has exclusively make both partitions invalid."""
        trial = copy(css)
        trial.cpus = cpus
        collision = False
        try:
            validate_change(css, trial)
        except OSError as error:
            if error.errno != EINVAL:
                raise
            collision = True
            for sibling in css.above.children():
                if sibling.partition.valid and cpus & sibling.cpus:
                    self._invalidate(sibling)
        if css.partition != MEMBER:
            if collision:
                self._invalidate(css)
            else:
                self._resize(css, cpus)
        effective = effective_within(css, cpus)
        css.cpus = cpus
        if css.subparts:
            starved = not effective & ~css.subparts and partition_populated(css)
            css.subparts = css.subparts & cpus if css.partition.valid and not starved else 0
        self._update_tree(css)
        if css.partition != MEMBER:
            self._update_followers(css)

    def set_partition(self, css: CpusetState, kind: str) -> None:
        """Set cpuset.cpus.partition, which is never refused: an impossible partition is invalid (update_prstate)."""
        old = css.partition
        new = MEMBER if kind == "member" else Partition(kind, True)
        if old == new:
            return
        if old.invalid and new != MEMBER:
            css.partition = new.turned()
            return
        reason = ""
        if old == MEMBER:
            reason = self._start(css)
        elif new == MEMBER:
            self._disable(css)
            if css.subparts:
                css.subparts = 0
                css.effective_cpus = effective_within(css, css.cpus)
            become_exclusive(css, False)
        if not reason and MEMBER in (old, new):
            self._update_followers(css)
        css.partition = new.turned() if reason else new
        css.reason = reason
        if any(css.children()):
            self._update_tree(css, force=new == MEMBER)
        notify_partition(css, old)

    def _start(self, css: CpusetState) -> str:
        """Turn a member into a partition. Returns the reason why not, or ""."""
        if not css.cpus:
            return EMPTY
        if not become_exclusive(css, True):
            return NOT_EXCLUSIVE
        reason = self._enable(css)
        if reason:
            become_exclusive(css, False)
        return reason
