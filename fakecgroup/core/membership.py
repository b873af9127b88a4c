"""Membership of tasks in all hierarchies at once, and the accounts that follow from it for real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from weakref import ref

from ..tasks.charges import MemoryCharges
from ..tasks.cputime import CpuAccounts
from ..tasks.css_sets import CssSets
from ..tasks.huge_pages import HugePageCharges, HugePageCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..tasks.affinity import Affinities
    from ..tasks.place import Places
    from ..tasks.processes import Processes
    from ..tasks.tid import Tid
    from .cgroup import Cgroup
    from .css import Css
    from .file_context import FileContext
    from .hierarchy import Hierarchy
    from .reclaimer import Enforcer, Reclaimer
    from .simulated import Simulated

# Seconds between two looks at what processes use: while one runs, while none does, while a listener waits.
_RUNNING, _IDLE, _AWAITED = 0.1, 1.0, 0.05


OnTask: TypeAlias = "Callable[[str, int, int, Sequence[Cgroup]], None]"
"""Is told of a task and its process: "fork" with the cgroups that it starts in, "enter" for each task that starts in a
cgroup or moves, "exit", "reap". The same may be told more than once."""


class Membership:
    """What the hierarchies of one kernel share about their tasks: sets, accounts, threads, looks."""

    writes: int  # to interface files: limits or places of tasks may have changed
    limits_tasks: bool  # a pids.max was ever set
    moved_threads: set[Tid]  # threads in other cgroups than their leader

    def __init__(self, processes: Processes, now: Callable[[], int]) -> None:
        self.processes = processes
        self.hierarchies: list[Hierarchy] = []
        self.css_sets = CssSets(processes)
        self.cpu = CpuAccounts(processes, now)
        self.memory = MemoryCharges(processes)
        self.huge_pages = HugePageCharges(processes, self._huge_page_counter)
        self.reclaimer: Reclaimer | None = None  # of simulated processes, and of real ones whose limits are enforced
        self.enforcer: Enforcer | None = None  # of limits on the memory of real processes
        self.affinities: Affinities | None = None  # None: nobody asks for them
        self.simulated: Simulated | None = None  # processes, if there ever were any
        self.awaited: set[Css] = set()  # memory groups with a listener: looks are frequent
        self.triggers: list[ref[FileContext]] = []  # open pressure files with a trigger
        self.writes = 0
        self.limits_tasks = False
        self.on_task: OnTask | None = None
        self.moved_threads = set()
        self._makers: dict[int, int] = {}  # process -> the thread that is about to make a new one
        self._pinned: dict[int, list[list[int]]] = {}  # process -> its threads in the root of each hierarchy
        self._newest = 0
        self._woken = 0.0  # seconds in which the next look comes at the latest; 0: none is due

    def follow(self, tgid: int, cgroup: Cgroup) -> None:
        """Note that a process is about to move to `cgroup`, where its children start from now on.

        Children that it forked before are in the old cgroup. They are adopted first, so that it does not look empty.
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
            if self.enforcer is not None:
                self.enforcer.moves(tgid)
            self.memory.move(tgid, cgroup, css.takes_memory if css is not None else 0)
        if cgroup.hierarchy.counts_huge_pages:
            self.huge_pages.look(tgid)
        self.look_within(_RUNNING)

    def migrate(self, tids: Sequence[int], tgid: int, cgroup: Cgroup) -> None:
        """Move threads of a process to `cgroup` (cgroup_migrate_execute). Nobody is asked whether they may move."""
        hierarchy = cgroup.hierarchy
        tids = self.css_sets.grouped(tids)
        if tgid in tids:
            self.follow(tgid, cgroup)
        sources = {tid: hierarchy.cgroup_of(tid) for tid in tids}
        for tid in tids:
            hierarchy.move(tid, tgid, cgroup)
        self.tell_attached(sources, cgroup)
        self.place_threads(tgid)
        if tgid in tids:
            self.freeze(tgid)

    def tell_attached(self, sources: Mapping[int, Cgroup], cgroup: Cgroup) -> None:
        """Tell controllers whose css has changed of tasks that have come to a cgroup, from where each of them was."""
        for name in cgroup.hierarchy.told_of_tasks:
            css = cgroup.effective_css(name)
            old = {tid: source.effective_css(name) for tid, source in sources.items() if source is not cgroup}
            if css is not None and any(one is not css for one in old.values()):
                css.attached(list(old), next(iter(old.values())))

    def place_threads(self, tgid: int) -> None:
        """Update which threads of a process are in other cgroups than their leader, after some have moved."""
        threads = self.processes.threads(tgid)
        if threads == [tgid]:
            return
        home = self.places(tgid, tgid)
        for tid in threads:
            places = self.places(tid, tgid)
            if tid != tgid:
                moved = None if places == home else places
                (self.moved_threads.discard if moved is None else self.moved_threads.add)(tid)
                self.processes.follow_thread(tid, moved)
                self.cpu.move_thread(tid, tgid, moved)
        self.look_within(_RUNNING)

    def maker(self, tgid: int) -> int:
        """The thread that makes new threads of this process; the leader, if nobody knows."""
        return self._makers.get(tgid, tgid)

    def expect_thread(self, tgid: int, maker: int) -> set[int]:
        """Take the next new thread of a process to be made by `maker`. Returns the threads there are."""
        threads = self.processes.threads(tgid)
        self._pinned[tgid] = [hierarchy.pin_threads(tgid, threads) for hierarchy in self.hierarchies]
        self._makers[tgid] = maker
        return set(threads)

    def expect_no_thread(self, tgid: int) -> None:
        """End `expect_thread`: the thread was made, or will not be."""
        self.adopt_threads(tgid)
        self._makers.pop(tgid, None)
        for hierarchy, pinned in zip(self.hierarchies, self._pinned.pop(tgid, ()), strict=False):
            hierarchy.unpin_threads(pinned)

    def adopt_threads(self, tgid: int) -> set[int]:
        """Put new threads of a process where their maker is. Returns all its threads."""
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
        if self.on_task is not None:
            self.on_task("enter", tid, tgid, ())
        if self.hierarchies[-1].dfl:
            self.css_sets.entered(tid, tgid, self.places(tid, tgid))

    def adopt_forked(self) -> None:
        """Put new processes where their parents were at the fork."""
        for task, places in self.processes.forked():
            self.processes.watch(task.tgid)
            for hierarchy, cgroup in zip(self.hierarchies, places, strict=True):
                hierarchy.adopt(task, cgroup)
                hierarchy.tell_adopted(task.tid, hierarchy.cgroup_of(task.tid))
                if hierarchy.counts_memory:
                    self.memory.start(task.tgid, cgroup)
            self.cpu.start(task.tgid, places)
            self.freeze(task.tgid)
            if self.on_task is not None:
                self.on_task("fork", task.tid, task.tgid, self.places(task.tid, task.tgid))
        for tgid in list(self._makers):
            self.adopt_threads(tgid)
        self._take_ends()

    def _take_ends(self) -> None:
        ends = self.processes.ended()
        self.cpu.ends_reported = ends is not None
        for end in ends or ():
            self.cpu.thread_ended(end)
            if end.whole is None:
                continue
            self.memory.exited(end.tgid, end.peak)
            for place in end.places or ():
                if place.hierarchy.counts_memory:
                    self.memory.note_peak(place, end.peak - end.inherited)

    def freeze(self, tgid: int) -> None:
        """Stop or continue a process, as the cgroups that it is in now are frozen or not."""
        self.processes.freeze(tgid, any(hierarchy.cgroup_of(tgid).frozen for hierarchy in self.hierarchies))

    # -- what they use ----------------------------------------------------------------------------

    def count_process(self, tgid: int) -> None:
        """Count what a process has used, which has exited or is gone."""
        self.cpu.look(tgid)
        memory = self.memory.look(tgid)
        if self.huge_pages:
            self.huge_pages.look(tgid, memory)

    @property
    def has_accounts(self) -> bool:
        """True if there is a process to look at."""
        return bool(self.cpu or self.memory)

    def has_account(self, tgid: int) -> bool:
        """True if a process has an account, be it only as the parent of one in a cgroup."""
        return tgid in self.cpu

    def process_exits(self, forked: Sequence[tuple[int, Places]], tgid: int, rest: int) -> None:
        """Count what a process has used, which is about to exit. The exit takes at most `rest` ns of CPU time more.

        `forked` are processes with the places of their fork. Each gets an account if it has none: the process itself,
        those above it, topmost first, and its children.
        """
        for child, places in forked:
            for place in places:
                if place.hierarchy.counts_memory:
                    self.memory.start(child, place)
            self.cpu.start(child, places)
        self.cpu.exiting(tgid, rest)
        self.memory.look(tgid)
        if forked:
            self.look_within(_RUNNING)

    def count_cpu(self, cgroup: Cgroup) -> None:
        """Bring `Cgroup.cpu` up to date, here and below."""
        if self.cpu:
            self.adopt_forked()
            for tgid in cgroup.processes():
                self.cpu.look(tgid)

    def count_memory(self, cgroup: Cgroup) -> None:
        """Bring `Cgroup.memory` up to date, here and below."""
        if self.memory:
            self.adopt_forked()
            for tgid in cgroup.processes():
                self.memory.look(tgid)
            self.memory.look_at_spread()

    def count_huge_pages(self, cgroup: Cgroup) -> None:
        """Bring the huge pages up to date that processes have, those here and below and those that had some."""
        if cgroup.hierarchy.counts_huge_pages:
            self.adopt_forked()
            for tgid in cgroup.processes():
                self.huge_pages.look(tgid)
            self.huge_pages.look_at_all()

    def _huge_page_counter(self, tgid: int) -> HugePageCounter | None:
        for hierarchy in self.hierarchies:
            if hierarchy.counts_huge_pages:
                css = hierarchy.cgroup_of(tgid).effective_css("hugetlb")
                return css if isinstance(css, HugePageCounter) else None
        return None

    def look(self) -> None:
        """Count what all processes have used by now, so that little is missed when one exits."""
        newest = self.processes.newest()
        if newest != self._newest:
            self._newest = newest
            self.adopt_forked()
        else:
            self._take_ends()
        self.cpu.busy = False
        counts_huge_pages = any(hierarchy.counts_huge_pages for hierarchy in self.hierarchies)
        for tgid in self.cpu.look_at_all().union(self.memory.without_account):
            memory = self.memory.look(tgid)
            if counts_huge_pages:
                self.huge_pages.look(tgid, memory)
        self._woken = 0.0
        if self.awaited and (self.cpu or self.memory):
            self.look_within(_AWAITED)
        elif self.cpu or self.memory:
            self.look_within(_RUNNING if self.cpu.busy else _IDLE)

    def look_within(self, seconds: float) -> None:
        """Ask for a call of `look` within this time, if there is anything to look at."""
        if (self._woken and self._woken <= seconds) or not (self.cpu or self.memory):
            return
        self._woken = seconds
        self.processes.wake(seconds)

    def await_memory(self, css: Css) -> None:
        """Look often from now on: a listener waits for this group's memory to change."""
        self.awaited.add(css)
        self.look_within(_AWAITED)
