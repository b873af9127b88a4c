"""The CPU as a resource of simulated processes."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

from ..controllers.cpuset.css import Cpuset
from ..effects.bandwidth import CPU
from .cpu_demand import Demand
from .cpu_scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..core.cgroup import Cgroup
    from ..effects.bandwidth import Group
    from .pressure import Pressure
    from .process import Process
    from .world import World

_PHASE = 100_000_000  # ns: period timers first expire within the default period


class CpuResource:
    """Gives simulated processes CPU time, as weights, quotas and cpusets let it."""

    name = "cpu"
    _demands: dict[Process, Demand]

    def __init__(self, world: World, pressure: Pressure) -> None:
        self._world = world
        self._pressure = pressure
        self._cpus = world.machine.cpus
        self.scheduler = Scheduler(self._cpus, self._first_boundary, self._close)
        self._demands = {}
        self._waits: list[dict[str, float]] = []  # of all processes
        self._waited = False  # somebody waited at the last look

    def gather(self, processes: Collection[Process]) -> None:
        self._demands = {
            process: self._demands.get(process) or Demand(process, self._world.now) for process in processes
        }
        cpu, cpuset = self._world.hierarchy("cpu"), self._world.hierarchy("cpuset")
        placed = []
        whole = (1 << self._cpus) - 1
        for process, demand in self._demands.items():
            sets = cpuset.cgroup_of(process.pid).effective_css("cpuset") if cpuset is not None else None
            allowed = sets.effective_cpus if isinstance(sets, Cpuset) else whole
            home = cpu.cgroup_of(process.pid) if cpu is not None else self._world.hierarchies[-1].root
            placed.append((demand, home, allowed or whole))
        self.scheduler.build(placed, self._world.now)
        for process, demand in self._demands.items():
            self._take(process, demand)
        self._waits = [process.waits for process in processes]

    def begin(self, process: Process) -> None:
        phase = process.phase
        assert phase is not None
        demand = self._demands[process]
        self.scheduler.change(demand, process.cpus, None if phase.run is None else phase.run * CPU)
        demand.waits = dict(process.waits)

    def resolve(self) -> None:
        if self._waited or any(self._waits):
            self._waited = any(self._waits)
            for process, demand in self._demands.items():
                self._take(process, demand)
        self.scheduler.resolve()

    def _take(self, process: Process, demand: Demand) -> None:
        """Take what a process wants and waits for, if that has changed."""
        if demand.asked != round(process.cpus * CPU) or demand.waits != process.waits:
            self.scheduler.change(demand, process.cpus, demand.runner.needs)
            demand.waits = dict(process.waits)

    def next(self, until: int) -> int:
        return self.scheduler.next(until)

    def advance(self, until: int) -> None:
        for demand in self.scheduler.advance(until):
            self._world.end_phase(demand.process, until)

    def may_wait(self, process: Process) -> bool:
        """True if a process waits for a CPU now, or may be throttled before something else happens."""
        demand = self._demands.get(process)
        return demand is not None and self.scheduler.may_wait(demand)

    def settle(self) -> None:
        """Compute what happened to all processes until now."""
        self.scheduler.settle()

    def settle_group(self, group: Group) -> None:
        """Compute what happened to a group with a quota, or below one, until now."""
        self.scheduler.settle_group(group)

    def used(self, process: Process) -> int:
        """ns of CPU time that a process has used until now."""
        demand = self._demands.get(process)
        if demand is None:
            return 0
        self.scheduler.settle_one(demand)
        return (demand.runner.used + CPU // 2) // CPU

    def _close(self, demand: Demand, now: int) -> None:
        """Tell of the piece of time in which a process wanted the same and was given the same."""
        if demand.asked or demand.waits:
            self._pressure.add(demand, now)

    def _first_boundary(self, cgroup: Cgroup) -> int:
        """When the period timer of a group first expires: at random, which the seed and the path decide."""
        chance = random.Random(zlib.crc32(f"{self._world.seed}:{cgroup.path}".encode()))
        return self._world.now + chance.randrange(_PHASE)
