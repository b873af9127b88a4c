"""Pressure of processes that a limit has stopped: how long they and the cgroups above stall (kernel/sched/psi.c)."""

from __future__ import annotations

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.simulation.pressure import stalls_of
from fakecgroup.simulation.waiting import stalled_of
from fakecgroup_mount.host.usage import cpu_clock


class Stalled:
    """The processes that stall for one resource. All is called with the model's lock held."""

    def __init__(self, kernel: Kernel, resource: str) -> None:
        self._hierarchy = kernel.hierarchies[-1]  # v1's cgroups have no pressure files
        self._resource = resource
        self._cpus = kernel.machine.cpus
        self._waiting: set[int] = set()
        self._since = 0  # ns
        self._clocks: dict[int, int] = {}  # ns that the others had run then

    def begin(self, tgid: int) -> None:
        """A process stalls from now on."""
        if self._hierarchy.dfl and tgid not in self._waiting:
            self.settle()
            self._waiting.add(tgid)
            self._clocks = self._run()

    def end(self, tgid: int) -> None:
        """A process stalls no more."""
        if tgid in self._waiting:
            self.settle()
            self._waiting.discard(tgid)

    def settle(self) -> None:
        """Counts what has stalled until now."""
        now = self._hierarchy.now()
        time, self._since = now - self._since, now
        if not self._waiting or time <= 0:
            return
        before, self._clocks = self._clocks, self._run()
        for cgroup, waiting in self._places().items():
            run = sum(
                self._clocks[tgid] - before.get(tgid, self._clocks[tgid])
                for tgid in cgroup.processes()
                if tgid in self._clocks
            )
            some, full = stalled_of(waiting, waiting, run / time, self._cpus)
            stalls_of(cgroup, self._resource, now - time).add(now, time, some * time, full * time)

    def _places(self) -> dict[Cgroup, int]:
        """How many stall in each cgroup and below."""
        places: dict[Cgroup, int] = {}
        for tgid in self._waiting:
            for cgroup in self._hierarchy.cgroup_of(tgid).lineage():
                places[cgroup] = places.get(cgroup, 0) + 1
        return places

    def _run(self) -> dict[int, int]:
        """ns that those have run that do not stall, in the cgroups where somebody does."""
        return {
            tgid: clock
            for cgroup in self._places()
            if cgroup.parent is not None and cgroup.parent.is_root
            for tgid in cgroup.processes()
            if tgid not in self._waiting and (clock := cpu_clock(tgid)) is not None
        }
