"""Partitions on 6.1: an impossible partition is invalid, with a reason (kernel/cgroup/cpuset.c)."""

from __future__ import annotations

from errno import EINVAL

from .populated import populated_outside_partitions
from .rules import become_exclusive, notify_partition
from .state import MEMBER, CpusetState, Partition, trial_of
from .subparts import SetAside, effective_within
from .tasks import update_tasks
from .validate import validate_change

INVALID_CPUS = "Invalid cpu list in cpuset.cpus"
INVALID_PARENT = "Parent is an invalid partition root"
NO_PARTITION_PARENT = "Parent is not a partition root"
NOT_EXCLUSIVE = "Cpu list in cpuset.cpus not exclusive"
NO_CPUS = "Parent unable to distribute cpu downstream"
HOTPLUG = "No cpu available due to hotplug"
EMPTY = "cpuset.cpus is empty"


def partition_populated(css: CpusetState, leaving: CpusetState | None = None) -> bool:
    """As `populated_outside_partitions`; all tasks below count where no CPU is set aside."""
    if leaving is None and not css.subparts:
        return css.populated()
    return populated_outside_partitions(css, leaving)


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
        update_tasks(parent)
        return ""

    def _disable(self, css: CpusetState) -> None:
        given = css.cpus & css.above.subparts
        if not parent_fault(css) and css.partition.valid and given:
            self._move(css.above, taken=0, given=given)
            update_tasks(css.above)

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
        takes_all = taken and not parent.effective_cpus & ~taken and not given & css.online_cpus
        if takes_all and partition_populated(parent, css):
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
        if given or taken:
            update_tasks(css.above)
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
            effective = (effective | css.subparts) & css.online_cpus
            css.subparts = 0
        css.effective_cpus = effective & ~css.subparts
        css.partition = new
        notify_partition(css, old)
        update_tasks(css)
        return True

    def follow_hotplug(self, css: CpusetState) -> None:
        """A partition without CPUs becomes invalid if it has tasks; an invalid one may become valid again."""
        parent = css.above
        cpus = effective_within(css, css.cpus) & ~css.subparts
        if css.partition.valid:
            if css.subparts and not cpus and partition_populated(css):
                css.subparts = 0
                cpus = effective_within(css, css.cpus)
            if not parent.subparts or (not cpus and partition_populated(css)):
                self._disable(css)
                if css.subparts:
                    css.subparts = 0
                    cpus = effective_within(css, css.cpus)
                old = css.partition
                css.partition = old.turned()
                css.reason = parent_fault(css) or HOTPLUG
                notify_partition(css, old)
        elif css.partition.invalid and parent.partition.valid:
            self._revise(css)
        self._take_effective(css, cpus)

    # -- writes ----------------------------------------------------------------------------------

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus (update_cpumask). CPUs that a sibling has exclusively make both partitions invalid."""
        trial = trial_of(css)
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
            update_tasks(css.above)
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
