"""Where a task is in all hierarchies at once (the kernel's css_set), and what follows from it for real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tasks.charges import MemoryCharges
from ..tasks.cputime import CpuAccounts
from ..tasks.css_sets import CssSets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..tasks.place import Places
    from ..tasks.processes import Processes
    from .cgroup import Cgroup
    from .css import Css
    from .hierarchy import Hierarchy

# Seconds between two looks at what processes use: while one runs, while none does, while somebody is to hear of it.
_RUNNING, _IDLE, _AWAITED = 0.1, 1.0, 0.05


class Membership:
    """What the hierarchies of one kernel share about their tasks."""

    def __init__(self, processes: Processes, now: Callable[[], int]) -> None:
        self.processes = processes
        self.hierarchies: list[Hierarchy] = []
        self.css_sets = CssSets(processes)
        self.cpu = CpuAccounts(processes, now)
        self.memory = MemoryCharges(processes)
        self.awaited: set[Css] = set()  # what is to be looked at often
        self.limits_tasks = False  # whether there ever was a pids.max
        self.apart: set[int] = set()  # threads that were moved to other places than their leader's
        self._makers: dict[int, int] = {}  # process -> the thread that is about to make another
        self._pinned: dict[int, list[list[int]]] = {}  # process -> in each hierarchy, its threads in the root
        self._newest = 0
        self._woken = 0.0  # in how many seconds at most the next look comes; 0: none does

    def follow(self, tgid: int, cgroup: Cgroup) -> None:
        """A process is about to move to `cgroup`: its children start there from now on.

        Whatever it forked before is where it was, so that is adopted first and the old cgroup does not look empty.
        """
        places = tuple(
            cgroup if hierarchy is cgroup.hierarchy else hierarchy.cgroup_of(tgid) for hierarchy in self.hierarchies
        )
        somewhere = None if all(place.parent is None for place in places) else places
        self.processes.follow(tgid, somewhere)
        self.adopt_forked()
        self.cpu.move(tgid, somewhere)
        if cgroup.hierarchy.counts_memory:
            css = cgroup.effective_css("memory")
            self.memory.move(tgid, cgroup, css.takes_memory if css is not None else 0)
        self.look_in(_RUNNING)

    def place_threads(self, tgid: int) -> None:
        """Threads of the process have moved, all of them or not."""
        threads = self.processes.threads(tgid)
        if threads == [tgid]:
            return
        home = self.places(tgid, tgid)
        for tid in threads:
            places = self.places(tid, tgid)
            if tid != tgid:
                apart = None if places == home else places
                (self.apart.discard if apart is None else self.apart.add)(tid)
                self.processes.follow_thread(tid, apart)
                self.cpu.move_thread(tid, tgid, apart)
        self.look_in(_RUNNING)

    def maker(self, tgid: int) -> int:
        """Who has made a thread of this process that is seen for the first time; the leader where nobody knows."""
        return self._makers.get(tgid, tgid)

    def expect_thread(self, tgid: int, maker: int) -> set[int]:
        """The next thread that is seen of a process is made by this one; returns those that there are."""
        threads = self.processes.threads(tgid)
        self._pinned[tgid] = [hierarchy.pin_threads(tgid, threads) for hierarchy in self.hierarchies]
        self._makers[tgid] = maker
        return set(threads)

    def expect_no_thread(self, tgid: int) -> None:
        """It was made, or will not be."""
        self.adopt_threads(tgid)
        self._makers.pop(tgid, None)
        for hierarchy, pinned in zip(self.hierarchies, self._pinned.pop(tgid, ()), strict=False):
            hierarchy.unpin_threads(pinned)

    def adopt_threads(self, tgid: int) -> set[int]:
        """Puts new threads of a process where their maker is; returns all of its threads."""
        threads = self.processes.threads(tgid)
        for hierarchy in self.hierarchies:
            hierarchy.adopt_threads(tgid, threads)
        if tgid in self._makers:
            self.place_threads(tgid)
        return set(threads)

    def places(self, tid: int, tgid: int) -> tuple[Cgroup, ...]:
        """The cgroup of a thread of a process in each hierarchy."""
        return tuple(hierarchy.place_of(tid, tgid) for hierarchy in self.hierarchies)

    def entered(self, tid: int, tgid: int) -> None:
        """Note that a task has started or moved. Only lists of the unified hierarchy, the last one, need it."""
        if self.hierarchies[-1].dfl:
            self.css_sets.entered(tid, tgid, self.places(tid, tgid))

    def adopt_forked(self) -> None:
        """Puts the processes that nobody told of where their parents were when they forked them."""
        for task, places in self.processes.forked():
            self.processes.watch(task.tgid)
            for hierarchy, cgroup in zip(self.hierarchies, places, strict=True):
                hierarchy.adopt(task, cgroup)
                if hierarchy.counts_memory:
                    self.memory.start(task.tgid, cgroup)
            self.cpu.start(task.tgid, places)
            self.freeze(task.tgid)
        for tgid in list(self._makers):
            self.adopt_threads(tgid)
        self._take_ends()

    def _take_ends(self) -> None:
        ends = self.processes.ended()
        self.cpu.told_of_ends = ends is not None
        for end in ends or ():
            self.cpu.ended(end)
            if end.whole is None:
                continue
            self.memory.ended(end.tgid, end.peak)
            for place in end.places or ():
                if place.hierarchy.counts_memory:
                    self.memory.passed(place, end.peak - end.inherited)

    def freeze(self, tgid: int) -> None:
        """Stops or continues a process as the cgroups it is in now say."""
        self.processes.freeze(tgid, any(hierarchy.cgroup_of(tgid).frozen for hierarchy in self.hierarchies))

    # -- what they use ----------------------------------------------------------------------------

    def look_at(self, tgid: int) -> None:
        """A process has exited, or is gone."""
        self.cpu.look(tgid)
        self.memory.look(tgid)

    @property
    def counts(self) -> bool:
        """Whether there is any process to look at."""
        return bool(self.cpu or self.memory)

    def knows(self, tgid: int) -> bool:
        """Whether what a process uses, or waits for, is counted or known to be counted nowhere."""
        return tgid in self.cpu

    def ends(self, told: Sequence[tuple[int, Places]], tgid: int, rest: int) -> None:
        """A process is about to exit, which takes `rest` ns on CPUs at most.

        Those that are `told` of were forked in these cgroups, if they are not known yet: it, processes above it, the
        topmost first, and its children.
        """
        for forked, places in told:
            for place in places:
                if place.hierarchy.counts_memory:
                    self.memory.start(forked, place)
            self.cpu.start(forked, places)
        self.cpu.end(tgid, rest)
        self.memory.look(tgid)
        if told:
            self.look_in(_RUNNING)

    def count_cpu(self, cgroup: Cgroup) -> None:
        """Brings `Cgroup.cpu` up to date, here and below."""
        if self.cpu:
            self.adopt_forked()
            for tgid in cgroup.processes():
                self.cpu.look(tgid)

    def count_memory(self, cgroup: Cgroup) -> None:
        """Brings `Cgroup.memory` up to date, here and below."""
        if self.memory:
            self.adopt_forked()
            for tgid in cgroup.processes():
                self.memory.look(tgid)
            self.memory.look_at_spread()

    def look(self) -> None:
        """Notes what all processes use now, so that little is missed when one exits."""
        newest = self.processes.newest()
        if newest != self._newest:
            self._newest = newest
            self.adopt_forked()
        else:
            self._take_ends()
        self.cpu.busy = False
        for tgid in self.cpu.look_at_all():
            self.memory.look(tgid)
        self._woken = 0.0
        if self.awaited and (self.cpu or self.memory):
            self.look_in(_AWAITED)
        elif self.cpu or self.memory:
            self.look_in(_RUNNING if self.cpu.busy else _IDLE)

    def look_in(self, seconds: float) -> None:
        """Has `look` called in this time at most, if there is anything to look at."""
        if (self._woken and self._woken <= seconds) or not (self.cpu or self.memory):
            return
        self._woken = seconds
        self.processes.wake(seconds)

    def await_memory(self, css: Css) -> None:
        """Somebody wants to hear when the memory that is used in this group changes."""
        self.awaited.add(css)
        self.look_in(_AWAITED)
