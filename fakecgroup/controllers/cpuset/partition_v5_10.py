"""Partitions on 5.10: an impossible partition is refused, and none is isolated (kernel/cgroup/cpuset.c)."""

from __future__ import annotations

from errno import EBUSY, EINVAL

from ...refuse import refuse
from .rules import become_exclusive, set_flag
from .state import MEMBER, ROOT, CpusetState, Partition, trial_of
from .subparts import SetAside, effective_within
from .tasks import update_tasks
from .validate import validate_change

INVALID_ROOT = Partition("root", False)


class RefusedPartitions(SetAside):
    """The rules of 5.10."""

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus (update_cpumask). Raises what `validate_change` does, EINVAL for an impossible partition."""
        trial = trial_of(css)
        trial.cpus = cpus
        validate_change(css, trial)
        if css.partition != MEMBER:
            if not cpus:
                raise refuse(EINVAL)
            self._resize(css, cpus)
        css.cpus = cpus
        css.subparts &= cpus
        self._update_tree(css)
        if css.partition != MEMBER:
            self._update_followers(css)

    def set_partition(self, css: CpusetState, kind: str) -> None:
        """Set cpuset.cpus.partition (update_prstate).

        Raises EINVAL for a partition without CPUs, with all CPUs of its parent, with a sibling's, below a member, and
        for one that is invalid; EBUSY with children.
        """
        new = MEMBER if kind == "member" else Partition(kind, True)
        if css.partition == new:
            return
        if css.partition == MEMBER:
            self._enable(css)
        elif new != MEMBER:
            raise refuse(EINVAL)
        elif css.partition.valid:
            self._disable(css)
        else:
            become_exclusive(css, False)
            css.partition = MEMBER
            return
        update_tasks(css.above)
        self._update_followers(css)
        css.partition = new

    def _enable(self, css: CpusetState) -> None:
        if not css.cpus:
            raise refuse(EINVAL)
        set_flag(css, "cpu_exclusive", True)
        try:
            self._require(css)
            if css.cpus & ~css.above.effective_cpus or css.cpus == css.above.effective_cpus:
                raise refuse(EINVAL)
        except OSError:
            become_exclusive(css, False)
            raise
        self._move(css.above, taken=css.cpus, given=0)

    def _disable(self, css: CpusetState) -> None:
        self._require(css)
        self._move(css.above, taken=0, given=css.cpus & css.above.subparts)
        become_exclusive(css, False)

    @staticmethod
    def _require(css: CpusetState) -> None:
        """Check that the parent is a valid partition and that there are no children. Raises EINVAL, EBUSY."""
        if not css.above.partition.valid or not css.cpus:
            raise refuse(EINVAL)
        if any(css.children()):
            raise refuse(EBUSY)

    def _resize(self, css: CpusetState, cpus: int) -> None:
        """Give the partition other CPUs (partcmd_update with a new mask). Raises EINVAL."""
        parent = css.above
        if not parent.partition.valid:
            raise refuse(EINVAL)
        given = css.cpus & ~cpus & parent.subparts
        taken = cpus & parent.effective_cpus & ~parent.subparts
        if taken and taken == parent.effective_cpus and not given & css.online_cpus:
            raise refuse(EINVAL)
        was_invalid = css.partition.invalid
        if was_invalid:
            css.partition = ROOT
        self._move(parent, taken=taken, given=given)

    def _revise(self, css: CpusetState) -> bool:
        """Make the partition valid after a change of its parent, if there are CPUs (partcmd_update without a mask).

        A valid one stays valid. False if nothing has changed.
        """
        parent = css.above
        if not parent.partition.valid or not css.cpus:
            return True  # the kernel's error counts as a change
        taken = css.cpus & parent.effective_cpus
        fails = taken == parent.effective_cpus
        if fails and css.partition.valid:
            return False
        given = css.cpus & parent.subparts if fails else 0
        changed = bool(given or (taken and not fails) or css.partition.valid == fails)
        if not fails:
            css.partition = ROOT
        self._move(parent, taken=0 if fails else taken, given=given)
        return changed

    def _update(self, css: CpusetState, changed: bool, force: bool) -> bool:
        parent = css.above
        effective = effective_within(css, css.cpus)
        css.follows_parent = not effective
        effective = effective or parent.effective_cpus
        if css.partition == MEMBER and effective == css.effective_cpus:
            return False
        new = css.partition
        if not changed and new != MEMBER:
            if parent.partition == MEMBER:
                new = MEMBER
                css.cpu_exclusive = False
            elif parent.partition.invalid:
                new = INVALID_ROOT
            elif self._revise(css):
                update_tasks(parent)
        css.effective_cpus = effective
        if css.subparts and not new.valid:
            css.subparts = 0
        elif css.subparts:
            css.effective_cpus &= ~css.subparts
            if not css.effective_cpus:
                css.effective_cpus = effective
                css.subparts = 0
            elif css.subparts & ~effective:
                css.subparts &= ~effective
        css.partition = new
        update_tasks(css)
        return True

    def follow_hotplug(self, css: CpusetState) -> None:
        """A partition without CPUs becomes invalid; an invalid one may become valid again."""
        parent = css.above
        cpus = effective_within(css, css.cpus) & ~css.subparts
        if css.partition.valid and (not cpus or parent.partition.invalid):
            if css.subparts:
                css.subparts = 0
                cpus = effective_within(css, css.cpus)
            if parent.partition.invalid or not cpus:
                if parent.partition.valid and css.cpus and not any(css.children()):
                    self._move(parent, taken=0, given=css.cpus & parent.subparts)
                css.partition = INVALID_ROOT
        if css.partition != MEMBER and parent.partition.valid and (css.partition.invalid or not cpus & parent.subparts):
            self._revise(css)
        self._take_effective(css, cpus)
