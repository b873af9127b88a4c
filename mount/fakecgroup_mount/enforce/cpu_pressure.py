"""Pressure on the CPU of real processes: how long they waited, in their cgroups and above (kernel/sched/psi.c)."""

from __future__ import annotations

from collections.abc import Iterable

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.simulation.cpu_pressure import Piece, stalled
from fakecgroup.simulation.pressure import stalls_of


def count_stalls(hierarchy: Hierarchy, pieces: Iterable[tuple[int, Piece]], passed: int, cpus: int) -> None:
    """Counts what processes did in the ns `passed` until now, on so many CPUs, by pid. The caller holds the lock."""
    sums: dict[Cgroup, list[int]] = {}
    for tgid, (used, active, waiting, threads) in pieces:
        for cgroup in hierarchy.cgroup_of(tgid).lineage():
            total = sums.setdefault(cgroup, [0, 0, 0, 0])
            total[0] += round(active)
            total[1] += round(waiting * active / (threads * passed))
            total[2] += round(used)
            total[3] += round(waiting)
    now = hierarchy.now()
    for cgroup, (active, waits, used, most) in sums.items():
        shares = (min(share, most / passed) for share in stalled(active, waits, used, cpus * passed))
        some, full = (passed * share for share in shares)
        stalls_of(cgroup, "cpu", now - passed).add(now, passed, some, 0.0 if cgroup.is_root else full)
