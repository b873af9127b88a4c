"""Simulated processes, seen from the files: what happened to them is counted when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..effects.bandwidth import Group


class Simulated(Protocol):
    """The simulated processes of a kernel."""

    def count_stalls(self) -> None:
        """Bring `Cgroup.stalls` up to date, of all cgroups."""

    def count_throttling(self, group: Group) -> None:
        """Bring the counters of a cgroup's bandwidth up to date."""
