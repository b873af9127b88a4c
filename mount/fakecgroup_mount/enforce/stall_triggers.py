"""Triggers on open pressure files, for real processes: who polls is woken when they have stalled."""

from __future__ import annotations

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.simulation.triggers import JIFFY, Triggers

_SECOND = 1_000_000_000


class StallTriggers:
    """The triggers of `kernel` (it is the `Stalling` of `Triggers`). While it has simulated processes, they do this."""

    def __init__(self, kernel: Kernel) -> None:
        self._unified = kernel.hierarchies[-1]  # v1's cgroups have no pressure files
        self._triggers = Triggers(self)

    @property
    def none(self) -> bool:
        """Whether there is no trigger."""
        return not self._unified.membership.triggers

    def look(self) -> float:
        """Looks at the stalls that are counted by now. Returns the seconds until it has to look again, if nobody stalls
        before. The caller holds the model's lock.
        """
        if self._unified.membership.simulated is None:
            self._triggers.gather()
            self._triggers.advance(self.now)
        now = self._unified.now()
        return max(0, self._triggers.next(now + _SECOND) - now) / _SECOND

    @property
    def now(self) -> int:
        """`Stalling.now`: that of the last tick."""
        return self._unified.now() // JIFFY * JIFFY

    @property
    def hierarchies(self) -> list[Hierarchy]:
        """`Stalling.hierarchies`."""
        return [self._unified]

    def is_active(self, cgroup: Cgroup) -> bool:
        """`Stalling.is_active`."""
        return cgroup.is_root or cgroup.populated

    def may_stall(self, cgroup: Cgroup, resource: str) -> bool:
        """`Stalling.may_stall`: who counts stalls looks at the triggers then."""
        return False
