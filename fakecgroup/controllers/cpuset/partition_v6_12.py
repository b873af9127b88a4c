"""Partitions on 6.12: a partition holds exclusive CPUs, of its parent or, if it is remote, of the root.

The kernel functions named here are in kernel/cgroup/cpuset.c.
"""

from __future__ import annotations

from errno import EINVAL

from ...refuse import refuse
from .exclusive import claimed, granted, leaves_tasks_without_cpu, partition_populated, without_siblings
from .rules import PartitionRules, become_exclusive, notify_partition
from .state import MEMBER, ROOT, CpusetState, Partition, trial_of
from .tasks import update_tasks
from .validate import validate_change

INVALID_CPUS = "Invalid cpu list in cpuset.cpus.exclusive"
INVALID_PARENT = "Parent is an invalid partition root"
NO_PARTITION_PARENT = "Parent is not a partition root"
NOT_EXCLUSIVE = "Cpu list in cpuset.cpus not exclusive"
NO_CPUS = "Parent unable to distribute cpu downstream"
EMPTY = "cpuset.cpus and cpuset.cpus.exclusive are empty"
NO_ACCESS = "Enable partition not permitted"
REMOTE_BELOW = "Have remote partition underneath"
HOTPLUG = "No cpu available due to hotplug"


class ExclusivePartitions(PartitionRules):
    """The rules of 6.12.

    `last` is the set of CPUs that was computed last (tmpmasks.new_cpus). The kernel has one such variable for all. So a
    partition that takes or returns CPUs while its parent is updated ends up with the CPUs of its last sibling.
    """

    last: int = 0
    rebuilds: bool = False  # the write ends with a rebuild of the scheduler's domains (force_sd_rebuild)
    taken_by_others = INVALID_CPUS  # the reason against a remote partition with CPUs of another partition

    # -- CPUs change hands ------------------------------------------------------------------------

    @staticmethod
    def _isolate(css: CpusetState, kind: str, cpus: int) -> None:
        """Note that `cpus` belong to a partition of this kind now."""
        top = css.top
        top.isolated = top.isolated | cpus if kind == "isolated" else top.isolated & ~cpus

    def _take(self, new: Partition, parent: CpusetState, cpus: int) -> None:
        """Take CPUs from the parent's tasks for a partition below (partition_xcpus_add)."""
        if parent is parent.top:
            parent.partitioned |= cpus
        if new != parent.partition:
            self._isolate(parent, new.kind, cpus)
        parent.effective_cpus &= ~cpus

    def _give_back(self, old: Partition, parent: CpusetState, cpus: int) -> None:
        """Give CPUs of a partition back to the parent's tasks (partition_xcpus_del)."""
        if parent is parent.top:
            parent.partitioned &= ~cpus
        if old != parent.partition:
            self._isolate(parent, parent.partition.kind, cpus)
        parent.effective_cpus |= cpus & parent.online_cpus

    @staticmethod
    def _reset(css: CpusetState) -> None:
        """Reset a cpuset that is no valid partition (reset_partition_data)."""
        css.nr_subparts = 0
        if not css.exclusive:
            css.exclusive_effective = 0
            css.cpu_exclusive = False
        css.effective_cpus = css.cpus & css.above.effective_cpus or css.above.effective_cpus

    # -- the local partition and its parent (update_parent_effective_cpumask) ---------------------

    def _enable(self, css: CpusetState, kind: str) -> str:
        """Take the CPUs from the parent. Returns the reason why not, or ""."""
        cpus = granted(css)
        if not cpus:
            return INVALID_CPUS
        if leaves_tasks_without_cpu(css.above, css, cpus):
            return NO_CPUS
        return self._settle(css, Partition(kind, True), taken=cpus)

    def _disable(self, css: CpusetState) -> None:
        if css.above.partition.valid and claimed(css):
            given = css.exclusive_effective if css.partition.valid else 0
            self._settle(css, MEMBER, given=given)

    def _invalidate(self, css: CpusetState) -> None:
        if css.partition.invalid:
            return
        given = self._held(css) & css.above.exclusive_effective if css.above.partition.valid else 0
        self._settle(css, css.partition.turned() if css.partition.valid else css.partition, given=given)

    def _held(self, css: CpusetState) -> int:
        """The CPUs that a valid partition counts as taken from its parent."""
        return claimed(css)

    def _resize(self, css: CpusetState, cpus: int) -> None:
        """Give the partition `cpus`, which makes it valid or invalid (partcmd_update)."""
        parent = css.above
        if not parent.partition.valid:
            return
        if not cpus:
            self._settle_update(css, EMPTY)
            return
        without = leaves_tasks_without_cpu(parent, css, claimed(css)) or leaves_tasks_without_cpu(parent, css, cpus)
        given = 0
        held = self._held(css)
        if css.partition.invalid:
            taken = cpus & parent.exclusive_effective
        else:
            given = held & ~cpus & parent.exclusive_effective
            taken = cpus & ~held & parent.exclusive_effective
        if without and not given & css.online_cpus:
            self._settle_update(css, NO_CPUS, given=held & parent.exclusive_effective)
        else:
            self._settle_update(css, "", given=given, taken=taken)

    def _revise(self, css: CpusetState) -> None:
        """Make the partition valid or invalid after a change of its parent."""
        parent, cpus = css.above, claimed(css)
        if not parent.partition.valid or not cpus:
            return
        given = taken = 0
        reason = ""
        if leaves_tasks_without_cpu(parent, css, cpus):
            reason = NO_CPUS
            if css.partition.valid:
                given = self._held(css) & parent.exclusive_effective
        elif css.partition.invalid and not cpus & ~parent.exclusive_effective:
            if any(cpus & claimed(sibling) for sibling in css.siblings()):
                reason = NOT_EXCLUSIVE
            else:
                taken = cpus & parent.effective_cpus
        self._settle_update(css, reason, given=given, taken=taken, revised=True)

    def _settle_update(
        self, css: CpusetState, reason: str, *, given: int = 0, taken: int = 0, revised: bool = False
    ) -> None:
        if reason:
            css.reason = reason
        state = css.partition
        new = state.turned() if state.valid == bool(reason) else state
        self._settle(css, new, given=given, taken=taken, update=True, revised=revised)

    def _settle(
        self,
        css: CpusetState,
        new: Partition,
        *,
        given: int = 0,
        taken: int = 0,
        update: bool = False,
        revised: bool = False,
    ) -> str:
        """Move CPUs between the parent and the partition, then update the siblings.

        Returns the reason why not, or "".
        """
        old, parent = css.partition, css.above
        if not given and not taken and new == old:
            return ""
        if new != old and not update and not self._mark_exclusive(css, new):
            return NOT_EXCLUSIVE
        css.partition = new
        if not new.valid and new != old:
            css.nr_subparts = 0
        if given:
            self._give_back(old, parent, given)
        if taken:
            self._take(new, parent, taken)
        if parent.partition.valid:
            parent.nr_subparts += new.valid - old.valid
        if new != old and update:
            self._mark_exclusive(css, new)
        if given or taken:
            update_tasks(parent)
            self._update_children(parent, css)
        if revised:
            self._balance(css, old)
        notify_partition(css, old)
        return ""

    @staticmethod
    def _mark_exclusive(css: CpusetState, state: Partition) -> bool:
        """Set cpu_exclusive for a valid partition, clear it for any other (update_partition_exclusive).

        False if siblings are in the way.
        """
        if state.valid == css.cpu_exclusive:
            return True
        return become_exclusive(css, state.valid) or not state.valid

    # -- the remote partition: its CPUs come from the root -----------------------------------------

    def _enable_remote(self, css: CpusetState, kind: str) -> str:
        if not self.privileged:
            return NO_ACCESS
        cpus, top = granted(css), css.top
        in_use = cpus & top.partitioned
        if not self._usable(css, cpus) or not top.effective_cpus & ~cpus:
            return INVALID_CPUS
        if in_use:
            return self.taken_by_others
        self._take(Partition(kind, True), top, cpus)
        css.remote = True
        css.exclusive_effective = cpus
        css.reason = ""
        self._update_all(top)
        return ""

    def _usable(self, css: CpusetState, cpus: int) -> int:
        """Those of `cpus` that a remote partition must have some of."""
        return cpus

    def _disable_remote(self, css: CpusetState) -> None:
        css.remote = False
        self._give_back(css.partition, css.top, css.exclusive_effective)
        css.partition = css.partition.turned() if css.reason else MEMBER
        css.exclusive_effective = granted(css)
        self._reset(css)
        self._update_all(css.top)

    def _resize_remote(self, css: CpusetState, cpus: int, exclusive: int | None = None) -> None:
        """Give a remote partition other CPUs, or end it (remote_cpus_update)."""
        added, removed = cpus & ~css.exclusive_effective, css.exclusive_effective & ~cpus
        top = css.top
        if not cpus:
            css.reason = EMPTY
        elif added and not self.privileged:
            css.reason = NO_ACCESS
        elif added and (added & top.partitioned or not top.effective_cpus & ~added):
            css.reason = NO_CPUS
        if not cpus or (added and css.reason):
            self._disable_remote(css)
            return
        if added:
            self._take(css.partition, top, added)
        if removed:
            self._give_back(css.partition, top, removed)
        css.exclusive_effective = cpus
        if exclusive is not None:
            css.exclusive = exclusive
        self._update_all(top, rebuilds=bool(added or removed))

    def _update_all(self, top: CpusetState, *, rebuilds: bool = True) -> None:
        """Update all cpusets after a change of the root's effective CPUs."""
        self.rebuilds |= rebuilds
        self.last = top.effective_cpus
        update_tasks(top)
        self._update_children(top, None)

    # -- down the tree ----------------------------------------------------------------------------

    def _update_children(self, parent: CpusetState, but: CpusetState | None) -> None:
        """Update the children after a change of the parent's effective CPUs (update_sibling_cpumasks)."""
        for child in parent.children():
            if child is not but and self._concerned(child):
                self._update_tree(child)

    def _concerned(self, child: CpusetState) -> bool:
        """True if a child must be updated: a local partition always, a remote one never, else if its CPUs change."""
        if child.partition.valid:
            return not child.remote
        self.last = self._shared(child)
        return self.last != child.effective_cpus

    def _shared(self, css: CpusetState) -> int:
        """The CPUs of a cpuset that is no partition, shared with its parent (compute_effective_cpumask)."""
        return css.cpus & css.above.effective_cpus

    def _update(self, css: CpusetState, changed: bool, force: bool) -> bool:
        """Update one cpuset; `changed`: it was written to. False if nothing changes from here down."""
        parent, old, remote = css.above, css.partition, css.remote
        if remote and not changed:
            cpus = self.last = granted(css)
            if cpus == css.exclusive_effective:
                return False
            self._resize_remote(css, cpus)
            remote = css.partition == old
        if remote or (parent.partition.valid and css.partition.valid):
            effective = self._left_over(css)
        else:
            effective = self._shared(css)
        self.last = effective
        new = css.partition
        if not remote:
            revise = css.partition.valid and not effective
            if not revise:
                effective = self.last = effective or parent.effective_cpus
                same = effective == css.effective_cpus and css.sched_load_balance == parent.sched_load_balance
                if css.partition == MEMBER and not force and same:
                    return False
            if not changed and old != MEMBER:
                if parent.partition.valid:
                    revise = True
                else:
                    new = css.partition.turned() if css.partition.valid else css.partition
                    css.reason = INVALID_PARENT if parent.partition.invalid else NO_PARTITION_PARENT
            if revise:
                self.last = effective
                self._revise(css)
                effective, new = self.last, css.partition
        css.effective_cpus = effective
        css.partition = new
        self._update_exclusive(css, changed)
        notify_partition(css, old)
        update_tasks(css)
        if css.has_own_tasks():
            self.last = css.effective_cpus
        if not css.partition.valid:
            css.sched_load_balance = parent.sched_load_balance
        self.rebuilds |= bool(css.cpus and css.sched_load_balance and css.partition.valid)
        return True

    def _update_exclusive(self, css: CpusetState, changed: bool) -> None:
        """Update the exclusive CPUs of a cpuset whose effective CPUs are known."""
        if css.exclusive and not changed:
            css.exclusive_effective = granted(css)
        if css.partition.valid and not css.exclusive:
            css.exclusive_effective = css.cpus & css.above.exclusive_effective
        elif css.partition.invalid:
            self._reset(css)

    def _left_over(self, css: CpusetState) -> int:
        """A partition's CPUs without those of the partitions below (compute_partition_effective_cpumask).

        A partition below that is no longer possible becomes invalid.
        """
        populated = partition_populated(css)
        cpus = granted(css) & css.online_cpus
        for child in css.children():
            if not child.partition.valid:
                continue
            child.reason = ""
            if child.exclusive_effective & ~css.exclusive_effective:
                child.reason = INVALID_CPUS
            elif populated and not cpus & ~child.exclusive_effective:
                child.reason = NO_CPUS
            if child.reason:
                old = child.partition
                child.partition = old.turned()
                css.nr_subparts -= 1
                child.nr_subparts = 0
                notify_partition(child, old)
            else:
                cpus &= ~child.exclusive_effective
        return cpus

    # -- hotplug ----------------------------------------------------------------------------------

    def resize_root(self, top: CpusetState) -> bool:
        """CPUs of partitions stay theirs, unless no other is left."""
        cpus = top.online_cpus
        if cpus == top.effective_cpus and not top.partitioned:
            return False
        self.rebuilds = True
        if top.partitioned and not cpus & ~top.partitioned:
            top.partitioned = 0
            top.nr_subparts = 0
        top.effective_cpus = cpus & ~top.partitioned
        return True

    def follow_hotplug(self, css: CpusetState) -> None:
        """A partition without CPUs becomes invalid if it has tasks; an invalid one may become valid again."""
        parent, top = css.above, css.top
        cpus = self._shared(css)
        if css.remote or (css.partition.valid and parent.partition.valid):
            cpus = self._left_over(css)
        if css.remote and (not top.partitioned or (not cpus and partition_populated(css))):
            css.reason = HOTPLUG
            self._disable_remote(css)
            cpus = self._shared(css)
        ends = (
            css.partition.valid
            and not css.remote
            and (not parent.partition.valid or leaves_tasks_without_cpu(parent, css, cpus) or not top.partitioned)
        )
        if ends:
            self._invalidate(css)
        elif css.partition.invalid and parent.partition.valid and css.exclusive_effective:
            self._revise(css)
            ends = css.partition.valid
        if ends:
            cpus = self._left_over(css)
            self.rebuilds = True
        if cpus != css.effective_cpus or self._seem_other_nodes(css):
            self._take_effective(css, cpus)

    def _seem_other_nodes(self, css: CpusetState) -> bool:
        """True if its nodes seem to change, as they do where it has none of its own."""
        return css.mems & css.above.effective_mems != css.effective_mems

    def end_hotplug(self, top: CpusetState) -> None:
        self._rebuild_domains(top)

    # -- the scheduler's domains ------------------------------------------------------------------

    def _balance(self, css: CpusetState, old: Partition) -> None:
        """Set whether the scheduler balances load among its CPUs (update_partition_sd_lb).

        A partition decides by its kind; any other cpuset follows its parent.
        """
        new = css.partition.kind != "isolated" if css.partition.valid else css.above.sched_load_balance
        self.rebuilds |= css.partition.valid or old.valid or new != css.sched_load_balance
        css.sched_load_balance = new

    def _rebuild_domains(self, css: CpusetState) -> None:
        if self.rebuilds:
            self.rebuilds = False
            css.top.domains.rebuild(_scheduler_domains(css.top))

    # -- writes ----------------------------------------------------------------------------------

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus (update_cpumask). CPUs that a sibling has exclusively make both partitions invalid."""
        trial = trial_of(css)
        trial.cpus = cpus
        if not cpus and not css.exclusive:
            trial.exclusive_effective = 0
        elif cpus and (css.exclusive or css.partition.valid):
            self._claim(css, trial)
        fault = ""
        if css.partition.valid and not trial.exclusive_effective:
            fault = INVALID_CPUS
        elif css.partition != MEMBER and leaves_tasks_without_cpu(css.above, css, trial.exclusive_effective):
            fault = NO_CPUS
        css.reason = fault or css.reason
        works = not fault
        try:
            validate_change(css, trial)
        except OSError as error:
            if error.errno != EINVAL:
                raise
            works = False
            for sibling in css.above.children():
                if sibling.partition.valid and claimed(trial) & sibling.exclusive_effective:
                    self._invalidate(sibling)
        old, grant = css.partition, css.exclusive_effective
        wanted = trial.exclusive_effective or (trial.cpus if css.partition.invalid else 0)
        if css.remote and (css.partition.valid or works):
            self._resize_remote(css, wanted)
        elif old.valid and not works:
            self._invalidate(css)
        elif old != MEMBER and works:
            self._resize(css, wanted)
        self._adopt(css, trial, old)
        self._update_tree(css, force=grant != trial.exclusive_effective)
        self._finish(css, old)

    def set_exclusive(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus.exclusive (update_exclusive_cpumask). Raises EINVAL for CPUs that a sibling holds."""
        trial = trial_of(css)
        trial.exclusive = cpus
        if self._claim(css, trial):
            raise refuse(EINVAL)
        validate_change(css, trial)
        old, grant = css.partition, css.exclusive_effective
        self._change_partition(css, trial)
        self._adopt(css, trial, old)
        force = grant != trial.exclusive_effective
        if css.partition.valid or force:
            self._update_tree(css, force)
        self._finish(css, old)

    def _finish(self, css: CpusetState, old: Partition) -> None:
        if css.partition != MEMBER:
            self._balance(css, old)
        self._rebuild_domains(css)

    def _claim(self, css: CpusetState, trial: CpusetState) -> bool:
        """Set the exclusive CPUs that the trial would get. True if siblings hold some that it claims."""
        claim = claimed(trial) if trial.exclusive == css.exclusive else trial.exclusive
        trial.exclusive_effective, conflict = without_siblings(css, claim & css.above.exclusive_effective)
        return conflict

    def _change_partition(self, css: CpusetState, trial: CpusetState) -> None:
        """Give the partition the CPUs of the trial, or make it invalid (partition_cpus_change)."""
        if css.partition == MEMBER:
            return
        fault = ""
        if not trial.exclusive_effective:
            fault = INVALID_CPUS
        elif leaves_tasks_without_cpu(css.above, css, trial.exclusive_effective):
            fault = NO_CPUS
        css.reason = fault or css.reason
        if css.remote and fault:
            self._disable_remote(css)
        elif css.remote:
            self._resize_remote(css, trial.exclusive_effective, trial.exclusive)
        elif fault:
            self._invalidate(css)
        else:
            self._resize(css, trial.exclusive_effective)

    def _adopt(self, css: CpusetState, trial: CpusetState, old: Partition) -> None:
        """Take the sets of the trial over."""
        css.cpus, css.exclusive = trial.cpus, trial.exclusive
        css.exclusive_effective = trial.exclusive_effective
        if old.valid and not css.partition.valid:
            self._reset(css)

    def set_partition(self, css: CpusetState, kind: str) -> None:
        """Set cpuset.cpus.partition, which is never refused: an impossible partition is invalid (update_prstate)."""
        new = MEMBER if kind == "member" else Partition(kind, True)
        if css.partition == new:
            return
        old = MEMBER if new.valid and css.partition.invalid else css.partition
        before = old
        switched = False
        reason = "" if self._mark_exclusive(css, new) else NOT_EXCLUSIVE
        if not reason and old == MEMBER:
            reason = self._start(css, kind)
        elif not reason and new.valid:
            switched = True
        elif not reason and css.remote:
            self._disable_remote(css)
        elif not reason:
            self._disable(css)
        if reason:
            new = new.turned()
            self._mark_exclusive(css, new)
        css.partition = new
        css.reason = reason
        if not new.valid:
            self._reset(css)
        elif switched:
            self._isolate(css, new.kind, css.exclusive_effective)
        self._update_tree(css, force=not new.valid and new == MEMBER)
        self._balance(css, before)
        notify_partition(css, before)
        self._rebuild_domains(css)

    def _start(self, css: CpusetState, kind: str) -> str:
        """Turn a member into a partition. Returns the reason why not, or ""."""
        if not claimed(css):
            return EMPTY
        if css.above is css.top and css.exclusive & css.top.partitioned:
            return REMOTE_BELOW
        return self._enable(css, kind) if css.above.partition.valid else self._enable_remote(css, kind)


def _scheduler_domains(top: CpusetState) -> list[int]:
    """The CPUs of each scheduler domain: the root's and those of each valid partition (generate_sched_domains)."""
    domains = [top.effective_cpus]
    below = list(top.children())
    while below:
        css = below.pop()
        if css.partition == ROOT and css.effective_cpus:
            domains.append(css.effective_cpus)
        if css.partition.valid or css.exclusive:
            below.extend(css.children())
    return domains
