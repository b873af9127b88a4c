"""The CPU as a resource of simulated processes."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

from ..controllers.cpuset.css import Cpuset
from ..effects.bandwidth import Runner
from .cpu_scheduler import Demand, Scheduler

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..core.cgroup import Cgroup
    from .process import Process
    from .world import World

_PHASE = 100_000_000  # ns: period timers first expire within the default period


class CpuResource:
    """Gives simulated processes CPU time, as weights, quotas and cpusets let it."""

    name = "cpu"

    def __init__(self, world: World) -> None:
        self._world = world
        self._cpus = world.machine.cpus
        self._scheduler = Scheduler(self._cpus, self._first_boundary)
        self._demands: dict[Process, Demand] = {}

    def gather(self, processes: Collection[Process]) -> None:
        self._demands = {process: self._demands.get(process) or _demand(process) for process in processes}
        cpu, cpuset = self._world.hierarchy("cpu"), self._world.hierarchy("cpuset")
        placed = []
        whole = (1 << self._cpus) - 1
        for process, demand in self._demands.items():
            sets = cpuset.cgroup_of(process.pid).effective_css("cpuset") if cpuset is not None else None
            allowed = sets.effective_cpus if isinstance(sets, Cpuset) else whole
            home = cpu.cgroup_of(process.pid) if cpu is not None else self._world.hierarchies[-1].root
            demand.cpus = process.cpus
            placed.append((demand, home, allowed or whole))
        self._scheduler.build(placed, self._world.now)

    def begin(self, process: Process) -> None:
        phase = process.phase
        assert phase is not None
        self._demands[process].runner.needs = phase.run

    def resolve(self) -> None:
        for process, demand in self._demands.items():
            demand.cpus = process.cpus
        self._scheduler.resolve()

    def next(self, until: int) -> int:
        return self._scheduler.completion(until)

    def advance(self, until: int) -> None:
        done = self._scheduler.advance(until)
        for process, demand in self._demands.items():
            runner = demand.runner
            process.used, process.stopped = runner.used, runner.stopped
            if id(runner) in done:
                runner.needs = None
                self._world.end_phase(process, until)

    def rate(self, process: Process) -> float:
        """CPUs that a process has now while no quota stops it."""
        return self._demands[process].runner.rate

    def _first_boundary(self, cgroup: Cgroup) -> int:
        """When the period timer of a group first expires: at random, which the seed and the path decide."""
        chance = random.Random(zlib.crc32(f"{self._world.seed}:{cgroup.path}".encode()))
        return self._world.now + chance.randrange(_PHASE)


def _demand(process: Process) -> Demand:
    return Demand(Runner(), process.workload.threads, process.workload.nice)
