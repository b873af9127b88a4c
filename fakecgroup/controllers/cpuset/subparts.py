"""What the partitions of kernels up to 6.1 share: a partition root sets CPUs aside for those below it."""

from __future__ import annotations

from .rules import PartitionRules
from .state import CpusetState


def effective_within(css: CpusetState, cpus: int) -> int:
    """Those of `cpus` that the parent has, be they set aside for partitions or not (compute_effective_cpumask)."""
    return cpus & (css.above.effective_cpus | css.above.subparts)


class SetAside(PartitionRules):
    """The parts of 5.10 and 6.1 that are alike."""

    @staticmethod
    def _move(parent: CpusetState, *, taken: int, given: int) -> None:
        """The parent sets CPUs aside, and takes others back for its own tasks."""
        parent.subparts |= taken
        parent.effective_cpus &= ~taken
        parent.subparts &= ~given
        parent.effective_cpus |= given

    def _update_followers(self, css: CpusetState) -> None:
        """Siblings without CPUs of their own follow the parent (update_sibling_cpumasks)."""
        for sibling in css.siblings():
            if sibling.follows_parent:
                self._update_tree(sibling)
