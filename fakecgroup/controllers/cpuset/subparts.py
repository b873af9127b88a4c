"""What the partitions of kernels up to 6.1 share: a partition root sets CPUs aside for those below it."""

from __future__ import annotations

from .rules import Rules
from .state import CpusetState


def effective_within(css: CpusetState, cpus: int) -> int:
    """Those of `cpus` that the parent has, be they set aside for partitions or not (compute_effective_cpumask)."""
    return cpus & (css.above.effective_cpus | css.above.subparts)


class SetAside(Rules):
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
