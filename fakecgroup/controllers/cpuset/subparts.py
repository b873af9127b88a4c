"""Partitions of kernels up to 6.1, the common part: a partition root sets CPUs aside for partitions below it."""

from __future__ import annotations

from .rules import PartitionRules
from .state import CpusetState


def effective_within(css: CpusetState, cpus: int) -> int:
    """Those of `cpus` that the parent has, set aside for partitions or not (compute_effective_cpumask)."""
    above = css.above
    return cpus & (above.effective_cpus | above.subparts & css.online_cpus)


class SetAside(PartitionRules):
    """The common part of 5.10 and 6.1."""

    @staticmethod
    def _move(parent: CpusetState, *, taken: int, given: int) -> None:
        """Set CPUs of the parent aside (`taken`), and give others back to its tasks (`given`)."""
        parent.subparts |= taken
        parent.effective_cpus &= ~taken
        parent.subparts &= ~given
        parent.effective_cpus |= given & parent.online_cpus

    def _update_followers(self, css: CpusetState) -> None:
        """Update the siblings without CPUs of their own, which follow the parent (update_sibling_cpumasks)."""
        for sibling in css.siblings():
            if sibling.follows_parent:
                self._update_tree(sibling)

    def resize_root(self, top: CpusetState) -> bool:
        """CPUs that are set aside stay so, unless no other is left (cpuset_hotplug_workfn)."""
        cpus = top.online_cpus
        changed = bool(cpus != top.effective_cpus or top.subparts)
        if not cpus & ~top.subparts:
            top.subparts = 0
        top.effective_cpus = cpus & ~top.subparts
        return changed
