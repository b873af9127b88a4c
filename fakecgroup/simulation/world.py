"""The simulated processes of a kernel, and the time that passes for them."""

from __future__ import annotations

import heapq
import random
import zlib
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Protocol

from ..controllers.cpuset.css import Cpuset
from ..effects.bandwidth import Runner
from ..effects.pressure_averages import interval
from ..effects.stalls import Stalls
from ..tasks.usage import CpuTime, CpuUse
from .cpu import Demand, Scheduler
from .cpu_pressure import Piece, piece, stalled
from .kill import Kill

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..core.hierarchy import Hierarchy
    from ..machine.machine import Machine
    from ..tasks.process_table import ProcessTable
    from .clock import VirtualClock
    from .workload import Workload

_INIT = 1
_HZ = 250


class Host(Protocol):
    """The kernel that the processes live in (`Kernel`)."""

    hierarchies: list[Hierarchy]
    machine: Machine

    def paths_of(self, pid: int) -> tuple[str, ...]: ...

    def task_exited(self, tid: int) -> None: ...

    def task_reaped(self, tid: int) -> None: ...


@dataclass(eq=False, slots=True)
class Process:
    """One simulated process: its workload, the phase that it is in, and when the phase ends (None: when it has run)."""

    pid: int
    workload: Workload
    demand: Demand
    started: int = 0
    phase: int = -1
    loops: int = 0
    serial: int = 0  # of the phase's end in the queue


class World:
    """The simulated processes of a kernel. Times are ns of the virtual clock."""

    def __init__(self, host: Host, table: ProcessTable, clock: VirtualClock, seed: int = 0) -> None:
        self._host = host
        self._table = table
        self._clock = clock
        self._seed = seed
        self.now = clock.start()
        self._processes: dict[int, Process] = {}
        self._queue: list[tuple[int, int, int, int]] = []  # time, order, pid, serial
        self._order = count()
        self._scheduler = Scheduler(host.machine.cpus, self._offset)
        self._cpus = host.machine.cpus
        self.kills: list[Kill] = []
        table.on_kill = self._note_kill

    def add(self, pid: int, workload: Workload) -> None:
        """Let a process of the table live through a workload, after its delay."""
        process = Process(pid, workload, Demand(Runner(), workload.threads, workload.nice), self.now)
        self._processes[pid] = process
        self._show(process)
        self._end_at(process, self.now + workload.delay)

    def remove(self, pid: int) -> None:
        """Let a process end now."""
        self._table.exit(pid)
        self._host.task_exited(pid)
        self._reap(pid)

    def _note_kill(self, pid: int) -> None:
        process = self._processes.get(pid)
        if process is not None:
            self.kills.append(Kill(self.now, pid, process.workload.name, self._host.paths_of(pid)))

    def killed(self, cgroup: str) -> int:
        """How many processes were killed in a cgroup and below it."""
        above = cgroup.rstrip("/") + "/"
        return sum(any(f"{path}/".startswith(above) for path in kill.cgroups) for kill in self.kills)

    def advance(self, time: int) -> None:
        """Let ns pass."""
        until = self.now + time
        self._gather()
        while True:
            self._begin_due_phases()
            if self.now >= until:
                break
            self._scheduler.resolve()
            top = min(until, self._queue[0][0] if self._queue else until)
            self._pass(self._scheduler.completion(top))
        for process in self._processes.values():
            self._show(process)

    # -- processes ----------------------------------------------------------------------------------

    def _gather(self) -> None:
        """Take the tree, the limits and the processes as they are now."""
        for pid in list(self._processes):
            task = self._table.find(pid)
            if task is None or task.zombie:
                self._host.task_exited(pid)
                self._reap(pid)
        for process in self._processes.values():
            self._set_demand(process)
        cpu = self._hierarchy("cpu")
        cpuset = self._hierarchy("cpuset")
        placed = []
        whole = (1 << self._cpus) - 1
        for process in self._processes.values():
            sets = cpuset.cgroup_of(process.pid).effective_css("cpuset") if cpuset is not None else None
            allowed = sets.effective_cpus if isinstance(sets, Cpuset) else whole
            home = cpu.cgroup_of(process.pid) if cpu is not None else self._host.hierarchies[-1].root
            placed.append((process.demand, home, allowed or whole))
        self._scheduler.build(placed, self.now)
        unified = self._host.hierarchies[-1]
        self._lineages: list[tuple[Process, list[Cgroup]]] = []
        if unified.dfl:
            self._lineages = [
                (process, list(unified.cgroup_of(process.pid).lineage())) for process in self._processes.values()
            ]

    def _hierarchy(self, controller: str) -> Hierarchy | None:
        for hierarchy in self._host.hierarchies:
            if controller in hierarchy.controllers:
                return hierarchy
        return None

    def _offset(self, cgroup: Cgroup) -> int:
        """When the period timer of a group first expires: at random, which the seed and the path decide."""
        return self.now + random.Random(zlib.crc32(f"{self._seed}:{cgroup.path}".encode())).randrange(100_000_000)

    def _end_at(self, process: Process, time: int) -> None:
        process.serial += 1
        heapq.heappush(self._queue, (time, next(self._order), process.pid, process.serial))

    def _begin_due_phases(self) -> None:
        while self._queue and self._queue[0][0] <= self.now:
            _, _, pid, serial = heapq.heappop(self._queue)
            process = self._processes.get(pid)
            if process is not None and process.serial == serial:
                self._begin_next_phase(process)

    def _begin_next_phase(self, process: Process) -> None:
        phases = process.workload.phases
        process.phase += 1
        if process.phase == len(phases):
            process.phase = 0
            process.loops += 1
            if process.workload.loop is not None and process.loops >= process.workload.loop:
                self._exit(process)
                return
        phase = phases[process.phase]
        process.demand.runner.needs = phase.run
        self._set_demand(process)
        if phase.time is not None:
            self._end_at(process, self.now + phase.time)

    def _set_demand(self, process: Process) -> None:
        """Take what the phase wants; a frozen process, and one that waits for its start, wants nothing."""
        waits = process.phase < 0 or process.pid in self._table.frozen
        process.demand.cpus = 0.0 if waits else process.workload.phases[process.phase].cpu

    def _exit(self, process: Process) -> None:
        process.demand.cpus = 0.0
        process.demand.runner.rate = 0.0
        self._show(process)
        self.remove(process.pid)
        self._gather()

    def _reap(self, pid: int) -> None:
        del self._processes[pid]
        if self._table.find(pid) is not None:
            self._table.reap(pid)
            self._host.task_reaped(pid)

    def _show(self, process: Process) -> None:
        """Tell the table what a process has used, for the files."""
        used = round(process.demand.runner.used)
        nice = used if process.workload.nice > 0 else 0
        self._table.use(process.pid, CpuUse(process.started + 1, _INIT, CpuTime(used, used, 0, nice), CpuTime()))

    # -- time ---------------------------------------------------------------------------------------

    def _pass(self, until: int) -> None:
        """Let time pass in which no demand changes."""
        before = [(process, process.demand.runner.used, process.demand.runner.stopped) for process, _ in self._lineages]
        time = until - self.now
        done = self._scheduler.advance(until)
        self.now = until
        self._clock.set(until)
        self._count_pressure(time, before)
        for process in list(self._processes.values()):
            if id(process.demand.runner) in done:
                process.demand.runner.needs = None
                self._end_at(process, until)

    def _count_pressure(self, time: int, before: list[tuple[Process, float, float]]) -> None:
        pieces: dict[Cgroup, list[Piece]] = {}
        for (process, used, stopped), (_, lineage) in zip(before, self._lineages, strict=True):
            demand = process.demand
            its = piece(
                time,
                used=demand.runner.used - used,
                stopped=demand.runner.stopped - stopped,
                demand=demand.cpus,
                rate=demand.runner.rate,
                threads=demand.threads,
            )
            if its.active > 0:
                for cgroup in lineage:
                    pieces.setdefault(cgroup, []).append(its)
        for cgroup, its_pieces in pieces.items():
            some, full = stalled(time, its_pieces, self._cpus)
            stalls = cgroup.stalls.get("cpu")
            if stalls is None:
                stalls = Stalls(self.now - time, interval(_HZ))
                cgroup.stalls = {**cgroup.stalls, "cpu": stalls}
            stalls.add(self.now, time, some, 0.0 if cgroup.is_root else full)
