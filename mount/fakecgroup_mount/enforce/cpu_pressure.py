"""Pressure on the CPU of real processes: how long they waited, in their cgroups and above (kernel/sched/psi.c)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.named_tuple import NamedTuple
from fakecgroup.simulation.cpu_pressure import Piece, stalled
from fakecgroup.simulation.pressure import stalls_of


class Measured(NamedTuple):
    """What a process did in a piece of time, and the CPUs that it may use."""

    tgid: int
    piece: Piece
    cpus: frozenset[int]


@dataclass(slots=True)
class _Sums:
    """Of the processes in a cgroup and below: the arguments of `stalled`, and how long they waited."""

    active: int = 0
    waits: int = 0
    used: int = 0
    waited: int = 0
    cpus: frozenset[int] = frozenset()

    def add(self, measured: Measured, passed: int) -> None:
        used, active, waited, threads = measured.piece
        self.active += round(active)
        self.waits += round(waited * active / (threads * passed))
        self.used += round(used)
        self.waited += round(waited)
        if not measured.cpus <= self.cpus:
            self.cpus |= measured.cpus


def count_stalls(hierarchy: Hierarchy, measured: Iterable[Measured], passed: int) -> None:
    """Counts what processes did in the ns `passed` until now. The caller holds the model's lock."""
    cgroups: dict[Cgroup, _Sums] = {}
    for one in measured:
        for cgroup in hierarchy.cgroup_of(one.tgid).lineage():
            cgroups.setdefault(cgroup, _Sums()).add(one, passed)
    now = hierarchy.now()
    for cgroup, sums in cgroups.items():
        shares = stalled(sums.active, sums.waits, sums.used, len(sums.cpus) * passed)
        some, full = (min(share * passed, sums.waited) for share in shares)
        stalls_of(cgroup, "cpu", now - passed).add(now, passed, some, 0.0 if cgroup.is_root else full)
