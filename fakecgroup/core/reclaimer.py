"""Who takes memory from processes, and whom limits act on, for files that ask for it."""

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


class Enforcer(Protocol):
    """Who makes limits of memory act on real processes."""

    def settle(self, cgroup: Cgroup) -> None:
        """Let limits act on what real processes in a cgroup have by now, which is counted already.

        It is called before a file tells of it.
        """

    def count_stalls(self) -> None:
        """Count how long real processes have stalled for memory until now, before a file tells of it."""

    def moves(self, tgid: int) -> None:
        """Note what a process has, which is about to be in another cgroup."""

    def begets(self, tgid: int) -> None:
        """Note what a process shares with a child that it is about to make in another cgroup."""
