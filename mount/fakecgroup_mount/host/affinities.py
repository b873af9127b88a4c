"""The affinities of real threads, on a machine that may have other CPUs than the real one.

The kernel keeps a real affinity for each thread, and children inherit it. What it stands for is kept here, for threads
that were told of. That of any other thread is its maker's, which is found among its ancestors. So before a thread asks
for other CPUs, or its process ends, those that it has made are noted (`hand_down`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from errno import ESRCH

from fakecgroup.machine.machine import Machine
from fakecgroup.machine.online_cpus import OnlineCpus
from fakecgroup.named_tuple import NamedTuple
from fakecgroup.outside.affinities import mapped, mapped_back, stand_ins
from fakecgroup.refuse import refuse
from fakecgroup.tasks.affinity import Affinity
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.host.real_cpus import real_cpus
from fakecgroup_mount.host.tasks import START, leader
from fakecgroup_mount.host.usage import parent_of, stat_of, text_of

_MOST = 1000  # threads, before those that are gone are looked for
_LEVELS = 100  # ancestors that are asked


def cpus_below(machine: Machine, *, pinned: bool) -> list[int]:
    """The CPU of the machine below that each CPU of a machine runs on (`stand_ins`)."""
    real = real_cpus(machine.cpus, pinned=pinned)
    return stand_ins(machine.cpus, real, same_machine=machine.cpus == os.cpu_count())


class _Told(NamedTuple):
    """What a thread that started at `start` has; `below` are the CPUs that it was set to, None if it was not."""

    start: int
    affinity: Affinity
    below: frozenset[int] | None

    def fits(self, runs_on: Collection[int]) -> bool:
        """Whether a thread that runs on these CPUs may have it from this one."""
        return self.below is None or self.below == runs_on


class HostAffinities:
    """`fakecgroup.tasks.affinity.Affinities` over threads of this machine.

    `below` has the CPU of the machine below for each CPU. While `follows` is set, threads run where their affinity
    says, else only where they have asked to. This process and those that are `spared` are left alone, and so is who may
    not be changed. If it is known which processes `belong` to the tree, those in its root follow the root.
    """

    def __init__(
        self,
        cpus: OnlineCpus,
        below: Sequence[int],
        spared: Collection[int] = (),
        belongs: Callable[[int], bool] | None = None,
    ) -> None:
        self.follows = False
        self.whole_root = belongs is not None
        self._belongs = belongs
        self.below = below
        self._cpus = cpus
        self._all_below = frozenset(below)
        self._spared = {os.getpid(), *spared}
        self._told: dict[int, _Told] = {}
        self._lock = threading.RLock()

    def tids(self) -> Collection[int]:
        with self._lock:
            self._forget_gone()
            return tuple(self._told)

    def is_told(self, tid: int) -> bool:
        """Whether the affinity of a thread was set."""
        with self._lock:
            return self._own(tid) is not None

    def of(self, tid: int) -> Affinity:
        """All CPUs for a thread that is gone."""
        try:
            return self.find(tid)
        except OSError:
            return Affinity(self._cpus.possible)

    def find(self, tid: int) -> Affinity:
        """As `of`. Raises OSError if there is no such thread."""
        if is_simulated(tid):
            return Affinity(self._cpus.possible)
        runs_on = os.sched_getaffinity(tid)
        with self._lock:
            told = self._own(tid) or self._makers(tid, runs_on)
        if told is not None:
            return told.affinity
        mask = 0 if runs_on >= self._all_below else mapped_back(runs_on, self.below)
        return Affinity(mask, mask) if mask else Affinity(self._cpus.possible)

    def _own(self, tid: int) -> _Told | None:
        """What a thread was told; forgotten if it is gone."""
        told = self._told.get(tid)
        try:
            if told is None or told.start == _start_of(tid):
                return told
        except ProcessLookupError:
            pass
        del self._told[tid]  # its number may be another's now
        return None

    def _makers(self, tid: int, runs_on: Collection[int]) -> _Told | None:
        """What the nearest thread was told that may have made this one, or an ancestor of it."""
        if not self._told:
            return None
        process = leader(tid)
        for _ in range(_LEVELS):
            for maker in self._threads_of(process):
                told = self._own(maker) if maker != tid else None
                if told is not None and told.fits(runs_on):
                    return told
            process = parent_of(process) if process else 0
            if process <= 1:
                return None
        return None

    def _threads_of(self, process: int) -> Iterator[int]:
        """The leader first, then the other threads of a process that were told."""
        yield process
        for name in _names(f"/proc/{process}/task") if len(self._told) > 1 else ():
            if int(name) != process and int(name) in self._told:
                yield int(name)

    def set(self, tid: int, affinity: Affinity) -> None:
        """Note what a thread has; while `follows` is set, have it run there. Nothing for one that is gone."""
        self._note(tid, affinity, run=self.follows)

    def runs_within(self, tid: int, cpus: int) -> bool:
        """True for a thread that is gone, and for all while `follows` is not set."""
        try:
            return not self.follows or os.sched_getaffinity(tid) <= self._below_for(cpus)
        except OSError:
            return True

    def ask(self, tid: int, affinity: Affinity) -> None:
        """Note what a thread has asked for, and have it run there."""
        self.hand_down(tid)
        self._note(tid, affinity, run=True)

    def _note(self, tid: int, affinity: Affinity, *, run: bool) -> None:
        if is_simulated(tid):
            return
        try:
            with self._lock:
                before = self._own(tid)
                if before is None and self._belongs is not None and not self._belongs(leader(tid)):
                    return
                below = self._run_on(tid, affinity) if run else before.below if before is not None else None
                if before is None and len(self._told) % _MOST == _MOST - 1:
                    self._forget_gone()
                self._told[tid] = _Told(_start_of(tid), affinity, below)
        except ProcessLookupError:
            pass

    def _run_on(self, tid: int, affinity: Affinity) -> frozenset[int] | None:
        """Have a thread run on the CPUs below for those that it has online. Returns these; None if it may not be set.

        Raises ProcessLookupError.
        """
        below = self._below_for(affinity.mask)
        if not below or leader(tid) in self._spared:
            return None
        try:
            if os.sched_getaffinity(tid) != below:
                os.sched_setaffinity(tid, below)
        except ProcessLookupError:
            raise
        except OSError:  # it is another user's, or the machine below has taken these CPUs away
            return None
        return below

    def _below_for(self, cpus: int) -> frozenset[int]:
        """The CPUs below for those of a mask that are online, or for all of it if none is."""
        return mapped(cpus & self._cpus.online or cpus, self.below)

    def strays(self) -> list[tuple[int, int]]:
        """Threads that run elsewhere than they were set to, and the CPUs that this stands for, as a mask."""
        found = []
        with self._lock:
            for tid, told in list(self._told.items()):
                try:
                    runs_on = os.sched_getaffinity(tid)
                    if not told.fits(runs_on) and self._own(tid) is not None:
                        found.append((tid, mapped_back(runs_on, self.below)))
                except ProcessLookupError:
                    self._told.pop(tid, None)
        return found

    def hand_down(self, tid: int) -> None:
        """Note what the threads of a process and its children have, as this thread of it is about to change or end."""
        with self._lock:
            if not self._told:
                return
            threads = _names(f"/proc/{leader(tid)}/task")
            children = [child for thread in threads for child in _children(thread)]
            for name in [*threads, *children]:
                new = int(name)
                try:
                    told = self._own(new) or self._makers(new, os.sched_getaffinity(new))
                    if told is not None:
                        self._told[new] = told._replace(start=_start_of(new))
                except ProcessLookupError:
                    continue

    def let_go(self) -> None:
        """Have the threads that were set run where they have asked to."""
        with self._lock:
            for tid, told in self._told.items():
                asked = told.affinity.asked
                try:
                    if told.below is not None and told.start == _start_of(tid):
                        self._run_on(tid, Affinity(self._cpus.possible if asked is None else asked))
                except ProcessLookupError:
                    continue

    def forget(self) -> None:
        """Forget all threads."""
        with self._lock:
            self._told.clear()

    def _forget_gone(self) -> None:
        for tid in list(self._told):
            self._own(tid)


def _start_of(tid: int) -> int:
    """When a thread has started, in ticks since the boot. Raises ProcessLookupError."""
    stat = stat_of(tid)
    if not stat:
        raise refuse(ESRCH)
    return int(stat[START])


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _children(thread: str) -> list[str]:
    """The child processes of a thread; none without CONFIG_PROC_CHILDREN."""
    return text_of(f"/proc/{thread}/task/{thread}/children").decode().split()
