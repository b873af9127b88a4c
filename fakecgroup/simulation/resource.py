"""What a resource does for the event loop of `World`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from .process import Process


class Resource(Protocol):
    """CPU, memory or IO: what limits let simulated processes have of it. Times are ns of the virtual clock.

    The loop calls, for each piece of time in which no phase begins or ends: `resolve` and `next` of each resource, then
    `advance` of each, up to the earliest of what `next` said. A resource calls `World.end_phase` for a process that has
    what its phase needs, and `World.kill` for one that it kills.
    """

    name: str  # cpu, memory or io; also the key of `Cgroup.stalls` and `Process.waits`

    def gather(self, processes: Collection[Process]) -> None:
        """Take the tree, the limits and the processes as they are now: something has changed."""

    def begin(self, process: Process) -> None:
        """Take what a process wants in the phase that has begun for it."""

    def resolve(self) -> None:
        """Set who gets how much from now on, and `Process.waits` of those that wait. The CPU comes last."""

    def next(self, until: int) -> int:
        """When something happens next that changes this; `until` if nothing does before. Changes nothing."""

    def advance(self, until: int) -> None:
        """Let time pass, and do what happens at its end."""
