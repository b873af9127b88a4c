"""The effects of a written set or flag. Partitions are in `partition_vX_Y`: each generation of kernels has its own."""

from __future__ import annotations

from copy import copy
from errno import EINVAL

from ...refuse import refuse
from .state import CpusetState, Partition
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


class WholeTree(Rules):
    """v1: written CPUs are effective, because a child never has more than its parent."""

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        trial = copy(css)
        trial.cpus = cpus
        validate_change(css, trial)
        css.cpus = css.effective_cpus = cpus


def set_mems(css: CpusetState, mems: int) -> None:
    """Set cpuset.mems to other nodes (update_nodemask). Raises what `validate_change` does."""
    trial = copy(css)
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
    trial = copy(css)
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
