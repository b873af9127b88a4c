"""Where a task is in all hierarchies at once (the kernel's css_set), and what follows from it for real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cgroup import Cgroup
    from .hierarchy import Hierarchy
    from .tasks import Processes


class Membership:
    """What the hierarchies of one kernel share about their tasks."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.hierarchies: list[Hierarchy] = []

    def follow(self, tgid: int, cgroup: Cgroup) -> None:
        """A process is about to move to `cgroup`: its children start there from now on.

        Whatever it forked before is where it was, so that is adopted first and the old cgroup does not look empty.
        """
        places = tuple(
            cgroup if hierarchy is cgroup.hierarchy else hierarchy.cgroup_of(tgid) for hierarchy in self.hierarchies
        )
        self.processes.follow(tgid, None if all(place.parent is None for place in places) else places)
        self.adopt_forked()

    def adopt_forked(self) -> None:
        """Puts the processes that nobody told of where their parents were when they forked them."""
        for task, places in self.processes.forked():
            self.processes.watch(task.tgid)
            for hierarchy, cgroup in zip(self.hierarchies, places, strict=True):
                hierarchy.adopt(task, cgroup)
            self.freeze(task.tgid)

    def freeze(self, tgid: int) -> None:
        """Stops or continues a process as the cgroups it is in now say."""
        self.processes.freeze(tgid, any(hierarchy.cgroup_of(tgid).frozen for hierarchy in self.hierarchies))
