"""Who takes memory from processes, for files that ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .cgroup import Cgroup


class Reclaimer(Protocol):
    """The world of simulated processes, as the memory controller asks it."""

    def fit(self, cgroup: Cgroup) -> None:
        """Make a cgroup of v2 fit into its limits, which were written: reclaim, then kill for memory.max."""

    def held(self, cgroup: Cgroup) -> int:
        """Pages that a cgroup uses, without those of real processes that a kernel could reclaim."""

    def reclaim(self, cgroup: Cgroup, pages: int, *, may_swap: bool = True) -> int:
        """Reclaim pages in a cgroup and below. Returns how many were found."""
