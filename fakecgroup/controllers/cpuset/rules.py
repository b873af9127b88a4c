"""What a written set or flag brings about, but for partitions: each generation of kernels has its own way with them."""

from __future__ import annotations

from copy import copy
from errno import EINVAL

from ...refuse import refuse
from .state import CpusetState, Partition
from .validate import validate_change


class Rules:
    """One kernel generation's handling of CPUs. `privileged`: the writer has CAP_SYS_ADMIN."""

    def __init__(self, privileged: bool = True) -> None:
        self.privileged = privileged

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """A new cpuset.cpus that differs from the old one. Raises what `validate_change` does."""
        raise NotImplementedError

    def set_exclusive(self, css: CpusetState, cpus: int) -> None:
        """A new cpuset.cpus.exclusive that differs from the old one. Raises what `validate_change` does, EINVAL."""
        raise refuse(EINVAL)

    def set_partition(self, css: CpusetState, kind: str) -> None:
        """`member`, `root` or `isolated`. Raises EINVAL, EBUSY where a kernel refuses."""
        raise refuse(EINVAL)


class PartitionRules(Rules):
    """v2: what holds is worked out down the tree."""

    def _update_tree(self, css: CpusetState, force: bool = False) -> None:
        """Effective CPUs of a cpuset and of those below it (update_cpumasks_hier)."""
        stack = [css]
        while stack:
            member = stack.pop()
            if member.alive and self._update(member, member is css, force):
                stack.extend(reversed(list(member.children())))

    def _update(self, css: CpusetState, changed: bool, force: bool) -> bool:
        """One of them; `changed` is the one that was written to. False where nothing changes from here on."""
        raise NotImplementedError


class WholeTree(Rules):
    """v1: what is written is what holds, because a child never has more than its parent."""

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        trial = copy(css)
        trial.cpus = cpus
        validate_change(css, trial)
        css.cpus = css.effective_cpus = cpus


def set_mems(css: CpusetState, mems: int) -> None:
    """A new cpuset.mems that differs from the old one (update_nodemask). Raises what `validate_change` does."""
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
    """Sets one of the flags (update_flag). Raises what `validate_change` does."""
    trial = copy(css)
    setattr(trial, name, value)
    validate_change(css, trial)
    setattr(css, name, value)


def become_exclusive(css: CpusetState, exclusive: bool) -> bool:
    """Tries to set the flag that keeps a partition's CPUs from its siblings; False where they have some of them."""
    try:
        set_flag(css, "cpu_exclusive", exclusive)
    except OSError:
        return False
    return True


def notify_partition(css: CpusetState, before: Partition) -> None:
    """An event on cpuset.cpus.partition if its state is another now (notify_partition_change)."""
    if css.partition != before:
        css.cgroup.notify("cpuset.cpus.partition")
        if css.partition.valid:
            css.reason = ""
