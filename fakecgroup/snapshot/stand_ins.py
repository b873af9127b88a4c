"""Simulated processes in the place of those that were seen. They are idle, and hold the memory of their cgroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..core.cgroup import Cgroup
from ..kernel import Kernel
from ..simulation.workload import Workload
from ..tasks.usage import CpuTime
from .content import SeenProcess, Snapshot
from .shares import Share, shares
from .task_lists import THREADS, listed, processes_of

_LIVES = "876000h"  # 100 years
_MOST_THREADS = 10_000  # of a workload
_NOTHING = Share()


def stand_in(kernel: Kernel, snapshot: Snapshot, placed: Mapping[int, Cgroup]) -> None:
    """Put a process where each was seen. `placed` has the cgroups of the model by the ids of those seen."""
    homes = _homes(snapshot, placed)
    processes = _processes(snapshot, homes)
    held = shares(snapshot, placed, homes, processes, kernel.machine.memory)
    idlers = Idlers()
    for seen in processes.values():
        tids = seen.threads or (seen.pid,)
        places = [
            [homes.get((tid, n)) or homes.get((seen.pid, n)) or one.root for n, one in enumerate(kernel.hierarchies)]
            for tid in (seen.pid, *(tid for tid in tids if tid != seen.pid))
        ]
        if seen.kernel:
            kernel.add_kernel_thread(places[0])
            continue
        kernel.stand_in(
            idlers.workload(seen, len(places)),
            places,
            uid=seen.uid,
            used=CpuTime(seen.user + seen.system, seen.user, seen.system),
            anon=held.get(seen.pid, _NOTHING).anon,
            file=held.get(seen.pid, _NOTHING).file,
        )


class Idlers:
    """Workloads that do nothing; processes that are alike have the same one."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Workload] = {}

    def workload(self, seen: SeenProcess, threads: int) -> Workload:
        """The workload of a process with so many threads."""
        threads = min(threads, _MOST_THREADS)
        key = (seen.name, threads, seen.nice, seen.oom_score_adj)
        if key not in self._known:
            self._known[key] = Workload(
                [{"for": _LIVES}],
                name=seen.name or None,
                threads=threads,
                nice=seen.nice,
                oom_score_adj=seen.oom_score_adj,
                loop="forever",
            )
        return self._known[key]


_Homes = dict[tuple[int, int], Cgroup]  # (tid, number of the hierarchy) -> cgroup


def _homes(snapshot: Snapshot, placed: Mapping[int, Cgroup]) -> _Homes:
    found: _Homes = {}
    for hierarchy in snapshot.hierarchies:
        for seen in hierarchy.cgroups:
            cgroup = placed.get(id(seen))
            if cgroup is None:
                continue
            number = cgroup.hierarchy.membership.hierarchies.index(cgroup.hierarchy)
            for tid in (*listed(seen, "cgroup.procs"), *listed(seen, *THREADS)):
                found[tid, number] = cgroup
    return found


def _processes(snapshot: Snapshot, homes: _Homes) -> dict[int, SeenProcess]:
    """The processes that were seen, with the threads that files list; and those that files alone list."""
    there = set(processes_of(snapshot))
    found = {pid: seen for pid, seen in snapshot.processes.items() if pid in there}
    owner = {tid: pid for pid, seen in found.items() for tid in (pid, *seen.threads)}
    threads: dict[int, list[int]] = {pid: [pid, *(t for t in seen.threads if t != pid)] for pid, seen in found.items()}
    for _, cgroup in snapshot.cgroups():
        for pid in listed(cgroup, "cgroup.procs"):
            if pid not in owner:
                owner[pid] = pid
                found[pid], threads[pid] = SeenProcess(pid), [pid]
    for _, cgroup in snapshot.cgroups():
        leaders = sorted(listed(cgroup, "cgroup.procs"))
        for tid in listed(cgroup, *THREADS):
            if tid in owner:
                continue
            # nobody has said whose thread it is: a process's threads have higher numbers than their leader
            below = [pid for pid in leaders if pid < tid] or leaders or sorted(found)
            if below:
                owner[tid] = below[-1]
                threads[owner[tid]].append(tid)
    placed = {tid for tid, _ in homes}
    return {
        pid: replace(seen, threads=tuple(tid for tid in threads[pid] if tid in placed)) for pid, seen in found.items()
    }
