"""Restores a fake's tree from its own state.

Its simulated processes go on as they would have. Real ones, which were in it under a mount, become simulated ones that
are idle and hold what they held.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.cftype import PAGE_SIZE
from ..kernel import Kernel
from ..tasks.processes import TaskInfo
from ..tasks.tid import FIRST_SIMULATED
from ..tasks.usage import CpuTime
from .content import SeenProcess, Snapshot
from .errors import SnapshotError
from .stand_ins import Idlers
from .state.codec import StateError
from .state.whole import check, load, table_of, tids_of
from .task_lists import THREADS, listed


def load_state(kernel: Kernel, snapshot: Snapshot, *, alone: bool) -> None:
    """Give a fresh kernel the state of a snapshot. `alone`: there are no other processes, so all keep their numbers.

    Raises SnapshotError.
    """
    try:
        table, real = tids_of(snapshot.state)
        numbers = _Numbers(table, alone=alone)
        processes = _real_processes(snapshot, table, real)
        for seen in processes:
            numbers.add(seen.pid, *seen.threads)
        load(kernel, snapshot.state, numbers.here)
        _stand_in(kernel, processes, numbers)
        check(kernel)
    except MemoryError:
        raise
    except Exception as error:  # whatever the state of a stranger leads to
        why = str(error) if isinstance(error, StateError) else "it does not hold together"
        raise SnapshotError(f"{snapshot.called} is no snapshot: its state: {why}") from None


class _Numbers:
    """The numbers of tasks here, by those that they had."""

    def __init__(self, table: Sequence[int], *, alone: bool) -> None:
        self._known = {tid: tid for tid in table if alone or tid >= FIRST_SIMULATED}
        self._next = max((FIRST_SIMULATED - 1, *self._known)) + 1
        self.add(*table)

    def add(self, *tids: int) -> None:
        """Give tasks a number that have none yet."""
        for tid in tids:
            if tid not in self._known:
                self._known[tid], self._next = self._next, self._next + 1

    def here(self, tid: int) -> int:
        """The number of a task, 0 if it was not taken along."""
        return self._known.get(tid, 0)


def _real_processes(snapshot: Snapshot, table: Sequence[int], real: Sequence[tuple[int, int]]) -> list[SeenProcess]:
    """The real processes, with the threads that the model knew of; of those in no cgroup, as they were seen."""
    threads: dict[int, list[int]] = {}
    for tid, tgid in real:
        threads.setdefault(tgid, []).append(tid)
    simulated = set(table)
    there = {tid for _, cgroup in snapshot.cgroups() for tid in listed(cgroup, *THREADS)}
    for pid, seen in snapshot.processes.items():
        if pid not in threads and pid not in simulated:
            threads[pid] = [pid, *(tid for tid in seen.threads if tid != pid and tid in there)]
    unseen = SeenProcess(0)
    return [snapshot.processes.get(pid, unseen).as_seen(pid=pid, threads=tuple(tids)) for pid, tids in threads.items()]


def _stand_in(kernel: Kernel, processes: Sequence[SeenProcess], numbers: _Numbers) -> None:
    """Put simulated processes in the place of real ones."""
    table, idlers = table_of(kernel), Idlers()
    for seen in processes:
        for tid in seen.threads:
            here, pid = numbers.here(tid), numbers.here(seen.pid)
            table.take(TaskInfo(here, pid, seen.uid, seen.uid, movable=not seen.kernel))
    kernel.membership.cpu.restored([numbers.here(seen.pid) for seen in processes])
    for seen in processes:
        pid = numbers.here(seen.pid)
        if seen.kernel or pid not in table.tids():
            continue
        held = kernel.membership.memory.held_by(pid)
        kernel.take_over(
            pid,
            idlers.workload(seen, len(seen.threads)),
            used=CpuTime(seen.user + seen.system, seen.user, seen.system),
            anon=held.anon // PAGE_SIZE,
            file=(held.file + held.shmem) // PAGE_SIZE,
        )
