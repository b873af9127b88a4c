"""Counts in each cgroup of the unified hierarchy how long simulated processes stalled (kernel/sched/psi.c)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..effects.pressure_averages import interval
from ..effects.stalls import Stalls
from .cpu_pressure import Piece, piece, stalled
from .waiting import Waiting, stalled_of

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from .cpu import CpuResource
    from .process import Process
    from .world import World

_HZ = 250


class _Before(NamedTuple):
    """A process at the beginning of a piece of time: ns that it had used and was throttled, what it wants and has."""

    used: float
    stopped: float
    cpus: float
    rate: float
    waiting: dict[str, Waiting]  # by resource


class Pressure:
    """Adds up stalls, of all resources, in a process's cgroup and those above it."""

    def __init__(self, world: World, cpu: CpuResource) -> None:
        self._world = world
        self._cpu = cpu
        self._cpus = world.machine.cpus
        self._lineages: list[tuple[Process, list[Cgroup]]] = []
        self._before: list[_Before] = []
        self._waited: list[str] = []  # the resources that somebody waits for

    def gather(self, processes: Iterable[Process]) -> None:
        """Take where the processes are now."""
        unified = self._world.hierarchies[-1]
        self._lineages = [
            (process, list(unified.cgroup_of(process.pid).lineage())) for process in processes if unified.dfl
        ]

    def begin(self) -> None:
        """Note what processes have used, want and wait for when a piece of time begins."""
        waited = {name for process, _ in self._lineages for name, share in process.waits.items() if share > 0}
        self._waited = sorted(waited)
        self._before = [
            _Before(
                process.used,
                process.stopped,
                process.cpus,
                self._cpu.rate(process),
                {name: Waiting.of(process, name) for name in self._waited},
            )
            for process, _ in self._lineages
        ]

    def count(self, time: int) -> None:
        """Count the stalls of the last `time` ns, in which no process's demand has changed."""
        if time <= 0:
            return
        self._count_cpu(time)
        for name in self._waited:
            self._count_waits(name, time)

    def _count_cpu(self, time: int) -> None:
        pieces: dict[Cgroup, list[Piece]] = {}
        for (process, lineage), before in zip(self._lineages, self._before, strict=True):
            its = piece(
                time,
                used=process.used - before.used,
                stopped=process.stopped - before.stopped,
                demand=before.cpus,
                rate=before.rate,
                threads=process.workload.threads,
            )
            if its.active > 0:
                for cgroup in lineage:
                    pieces.setdefault(cgroup, []).append(its)
        for cgroup, its_pieces in pieces.items():
            some, full = stalled(time, its_pieces, self._cpus)
            self._add(cgroup, self._cpu.name, time, some, 0.0 if cgroup.is_root else full)

    def _count_waits(self, name: str, time: int) -> None:
        """Count stalls for memory or io, where some process of a cgroup has them."""
        tasks: dict[Cgroup, list[Waiting]] = {}
        for (_, lineage), before in zip(self._lineages, self._before, strict=True):
            for cgroup in lineage:
                tasks.setdefault(cgroup, []).append(before.waiting[name])
        for cgroup, waiting in tasks.items():
            some, full = stalled_of(waiting, self._cpus)
            if some > 0:
                self._add(cgroup, name, time, some * time, full * time)

    def _add(self, cgroup: Cgroup, name: str, time: int, some: float, full: float) -> None:
        stalls = cgroup.stalls.get(name)
        if stalls is None:
            stalls = Stalls(self._world.now - time, interval(_HZ))
            cgroup.stalls = {**cgroup.stalls, name: stalls}
        stalls.add(self._world.now, time, some, full)
