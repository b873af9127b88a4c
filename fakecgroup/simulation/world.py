"""The simulated processes of a kernel, and the time that passes for them."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Protocol

from ..tasks.usage import CpuTime, CpuUse
from .cpu import CpuResource
from .hugetlb import HugetlbResource
from .io import IoResource
from .kill import Kill
from .memory import MemoryResource
from .pressure import Pressure
from .process import Process
from .restarts import Restarts
from .serial import Serial
from .triggers import Triggers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.cgroup import Cgroup
    from ..core.hierarchy import Hierarchy
    from ..effects.bandwidth import Group
    from ..machine.machine import Machine
    from ..tasks.process_table import ProcessTable
    from ..tasks.tid import Tid
    from .clock import VirtualClock
    from .cpu_scheduler import Scheduler
    from .resource import Resource
    from .workload import Workload

_NOBODY = 0  # the parent in the accounts: nobody that counts waits for a simulated process
_FAR = 10_000_000_000  # ns that `next_event` looks ahead


class Host(Protocol):
    """The kernel that the processes live in (`Kernel`)."""

    hierarchies: list[Hierarchy]
    machine: Machine

    def paths_of(self, pid: int) -> tuple[str, ...]: ...

    def task_exited(self, tid: int) -> None: ...

    def task_reaped(self, tid: int) -> None: ...

    def respawn(self, cgroups: Sequence[str], workload: Workload) -> bool: ...


class World:
    """The event loop of simulated processes: it begins their phases, and asks the resources what happens between.

    Times are ns of the virtual clock. `now` is the time up to which everything has happened.
    """

    seed: int
    now: int
    kills: list[Kill]
    _processes: dict[Tid, Process]
    _places: dict[Tid, tuple[str, ...]]  # the cgroups of those that start again
    _queue: list[tuple[int, int, Tid, int]]  # ends of phases: time, order, pid, serial
    _order: Serial

    def __init__(self, host: Host, table: ProcessTable, clock: VirtualClock, seed: int = 0) -> None:
        self.table = table
        self.seed = seed
        self.now = clock.start()
        self._host = host
        self._clock = clock
        self._processes = {}
        self._counted = -1  # when stalls were counted last
        self._places = {}
        self._queue = []
        self._order = Serial()
        self._changed = True  # since the resources have last gathered
        self._writes = -1  # to files, when the resources last gathered
        self.kills = []
        self.restarts = Restarts()
        table.on_kill = self._note_kill
        table.before_cpu = self._show_process
        host.hierarchies[-1].membership.simulated = self
        self._pressure = Pressure(self)
        self._triggers = Triggers(self)
        self._cpu = CpuResource(self, self._pressure)
        self._memory = MemoryResource(self)
        # the CPU is last: what waits for another is not runnable
        self.resources: list[Resource] = [HugetlbResource(self), self._memory, IoResource(self), self._cpu]

    @property
    def scheduler(self) -> Scheduler:
        return self._cpu.scheduler

    # -- what the resources ask ----------------------------------------------------------------------

    @property
    def machine(self) -> Machine:
        return self._host.machine

    @property
    def hierarchies(self) -> list[Hierarchy]:
        return self._host.hierarchies

    def hierarchy(self, controller: str) -> Hierarchy | None:
        """The hierarchy that has a controller; None if none has."""
        for hierarchy in self._host.hierarchies:
            if controller in hierarchy.controllers:
                return hierarchy
        return None

    def is_active(self, cgroup: Cgroup) -> bool:
        """True if a process in a cgroup of the unified hierarchy or below runs, or waits for something."""
        return any(process.cpus > 0 or process.waits for process in self._pressure.processes_in(cgroup))

    def may_stall(self, cgroup: Cgroup, resource: str) -> bool:
        """True if a process in a cgroup of the unified hierarchy or below stalls for a resource, or soon may."""
        inside = self._pressure.processes_in(cgroup)
        if resource == self._cpu.name:
            return any(map(self._cpu.may_wait, inside))
        return any(process.waits.get(resource) for process in inside)

    def end_phase(self, process: Process, time: int) -> None:
        """Let the phase of a process end at a time, not before now; this replaces what was said before."""
        process.serial += 1
        heapq.heappush(self._queue, (time, next(self._order), process.pid, process.serial))

    def kill(self, pid: int) -> None:
        """Kill a process of the table now, as SIGKILL does. Does nothing if it is gone."""
        process = self._processes.get(pid)
        if process is not None:
            self._show(process)
            self._memory.show()
        if self.table.find(pid) is not None:
            self.table.kill(pid)
        if process is not None:
            self._end(process)

    # -- processes ----------------------------------------------------------------------------------

    def add(self, pid: int, workload: Workload, *, at_once: bool = False) -> None:
        """Let a process of the table live through a workload, after its delay or `at_once`."""
        process = Process(pid, workload, self.now)
        self._processes[pid] = process
        self._changed = True
        self._show(process)
        self.end_phase(process, self.now + (0 if at_once else workload.delay))

    def take_over(self, pid: int, workload: Workload, used: CpuTime, anon: int, file: int) -> None:
        """Let a process of the table go on in its first phase that has used CPU time and holds pages."""
        process = Process(pid, workload, self.now, number=0, before=used)
        self._processes[pid] = process
        self._changed = True
        self._show(process)
        self._memory.take_over(process, anon, file)
        time = workload.phases[0].time
        if time is not None:
            self.end_phase(process, self.now + time)

    def start_threads(self, pid: int) -> None:
        """Start the other threads of a process where it is. Those that a pids limit refuses are not there."""
        process = self._processes[pid]
        places = [hierarchy.cgroup_of(pid) for hierarchy in self._host.hierarchies]
        for number in range(1, process.workload.threads):
            try:
                for place in places:
                    place.hierarchy.can_fork(place, place)
            except OSError:
                process.refused = process.workload.threads - number
                return
            tid = self.table.add(tgid=pid)
            process.tids = (*process.tids, tid)
            for place in places:
                place.hierarchy.fork(place, tid, pid)

    def change(self, pid: int, workload: Workload) -> None:
        """Let a process live through a workload from now on, which may be one of the table that had none."""
        process = self._processes.get(pid)
        if process is None:
            self.add(pid, workload)
            process = self._processes[pid]
            process.orphan = False
        process.take_up(workload)
        self.end_phase(process, self.now)

    def remove(self, pid: int) -> None:
        """Let a process exit now."""
        self._exit(self._processes[pid])
        self._forget(pid)

    def find(self, pid: int) -> Process | None:
        """The process with a pid; None if there is none."""
        return self._processes.get(pid)

    def workloads(self) -> list[Workload]:
        """Those of the processes."""
        return list({id(process.workload): process.workload for process in self._processes.values()}.values())

    def processes_of(self, workload: Workload) -> list[int]:
        """The live processes of a workload."""
        alive = [pid for pid, process in self._processes.items() if process.workload is workload]
        return [pid for pid in alive if (task := self.table.find(pid)) is not None and not task.zombie]

    def end(self, workload: Workload) -> None:
        """Let the processes of a workload exit now, and start none of them again."""
        for pid in self.processes_of(workload):
            self.remove(pid)
        self.restarts.forget(workload)

    def killed(self, cgroup: str, since: int = 0) -> int:
        """How many processes were killed in a cgroup and below it, after the first `since` of all kills."""
        above = cgroup.rstrip("/") + "/"
        return sum(any(f"{path}/".startswith(above) for path in kill.cgroups) for kill in self.kills[since:])

    def _note_kill(self, pid: int) -> None:
        process = self._processes.get(pid)
        if process is not None:
            self.kills.append(Kill(self.now, pid, process.workload.name, self._host.paths_of(pid)))
            self.hierarchies[-1].membership.count_process(pid)  # nobody asks a zombie

    def _end(self, process: Process) -> None:
        """Drop a process that has exited or was killed, and note that it starts again."""
        if process.workload.restart:
            self.restarts.add(self.now, process.workload, self._places.get(process.pid, ()))
        self._forget(process.pid)

    def _restart_due(self) -> None:
        while (restart := self.restarts.due(self.now)) is not None:
            if not self._host.respawn(restart.cgroups, restart.workload):
                self.restarts.add(self.now, restart.workload, restart.cgroups)

    def _exit(self, process: Process) -> None:
        self._memory.show()
        for tid in (*process.tids, process.pid):
            if self.table.find(tid) is not None:
                self.table.exit(tid)

    def _forget(self, pid: int) -> None:
        """Drop a process that has ended. If its parent is init, it is waited for at once."""
        process = self._processes.pop(pid)
        for tid in (*process.tids, pid):
            self._host.task_exited(tid)
        self._places.pop(pid, None)
        self._changed = True
        if process.orphan and self.table.find(pid) is not None:
            self.table.reap(pid)
            self._host.task_reaped(pid)

    def _show_process(self, pid: int) -> None:
        process = self._processes.get(pid)
        if process is not None:
            self._show(process)

    def _show(self, process: Process) -> None:
        """Tell the table what a process has used, for the files."""
        used = self._cpu.used(process)
        if used == process.shown:
            return
        process.shown = used
        nice = used if process.workload.nice > 0 else 0
        own = process.before.plus(CpuTime(used, used, 0, nice))
        self.table.use(process.pid, CpuUse(process.started + 1, _NOBODY, own, CpuTime()))

    # -- time ---------------------------------------------------------------------------------------

    def advance(self, time: int) -> None:
        """Let ns pass."""
        until = self.now + time
        self._look_outside()
        while True:
            self._restart_due()
            self._begin_due_phases()
            if self._changed:
                self._gather()
            if self.now >= until:
                break
            self._pass(until)
            if self._pressure.full:
                self.count_stalls()
        self._memory.show()

    def count_stalls(self) -> None:
        """Count all stalls until now. As in a kernel, times are taken then: shares of time are of before and after."""
        if self._counted != self.now:
            self._counted = self.now
            self._cpu.settle()
            self._pressure.settle()

    def count_throttling(self, group: Group) -> None:
        """Count what happened to a group with a quota, or below one, until now."""
        self._cpu.settle_group(group)

    def settle_for_snapshot(self) -> None:
        """Count all that has happened until now, and look at everything anew when time goes on."""
        self.count_stalls()
        self._changed = True

    def _look_outside(self) -> None:
        """See what was done from outside: drop processes that were killed, and note whether there is more."""
        for pid, process in list(self._processes.items()):
            task = self.table.find(pid)
            if task is None or task.zombie:
                self._end(process)
            elif process.frozen != self.table.waits(pid):
                self._changed = True
        if self.hierarchies[-1].membership.writes != self._writes:
            self._changed = True
        self._triggers.gather()

    def _gather(self) -> None:
        """Take the tree, the limits and the processes as they are now."""
        self._changed = False
        self._writes = self.hierarchies[-1].membership.writes
        processes = self._processes.values()
        for process in processes:
            process.frozen = self.table.waits(process.pid)
            if process.workload.restart:
                self._places[process.pid] = self._host.paths_of(process.pid)
        for resource in self.resources:
            resource.gather(processes)
        self._pressure.gather(processes)

    def _begin_due_phases(self) -> None:
        while self._queue and self._queue[0][0] <= self.now:
            _, _, pid, serial = heapq.heappop(self._queue)
            process = self._processes.get(pid)
            if process is not None and process.serial == serial:
                self._begin_next_phase(process)

    def _begin_next_phase(self, process: Process) -> None:
        process.number += 1
        if process.number == len(process.workload.phases):
            process.number = 0
            process.loops += 1
            if process.workload.loop is not None and process.loops >= process.workload.loop:
                self._show(process)
                self._exit(process)
                self._end(process)
                return
        if self._changed:
            self._gather()
        for resource in self.resources:
            resource.begin(process)
            if self._processes.get(process.pid) is not process:
                return  # what it asked for has killed it
        phase = process.workload.phases[process.number]
        if phase.time is not None:
            self.end_phase(process, self.now + phase.time)

    def _pass(self, most: int) -> None:
        """Let time pass until something happens, at `most` until then."""
        self.now = until = self._soonest(most)
        self._clock.set(until)
        for resource in reversed(self.resources):  # the CPU first: what processes used is known when one is killed
            resource.advance(until)
        self._triggers.advance(until)

    def _soonest(self, most: int) -> int:
        """When something happens next, at `most` then."""
        for resource in self.resources:
            resource.resolve()
        until = min(most, self._queue[0][0]) if self._queue else most
        if (soonest := self.restarts.soonest) is not None:
            until = min(until, soonest)
        for resource in self.resources:
            until = resource.next(until)
        return self._triggers.next(until)

    def next_event(self) -> int | None:
        """ns until something happens by itself, ten seconds at most; None if there are no processes."""
        if not self._processes and self.restarts.soonest is None:
            return None
        return self._soonest(self.now + _FAR) - self.now
