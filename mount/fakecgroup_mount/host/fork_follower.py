"""Finds the processes that are forked in a cgroup, and their places: the parent's at the time of the fork (css_set).

There are two ways. Where the kernel sends fork events (`fork_events`), `fork_tracker` follows them. Elsewhere, and
after lost events, each process in a cgroup carries a mark that its children inherit (`fork_marks`): `new_pids` finds
the new processes, `inherited_marks` decides which were forked in a cgroup. docs/explanation/processes.md lists what
this misses.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from fakecgroup import End, TaskInfo
from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.exit_events import ExitEvents
from fakecgroup_mount.host.exit_tracker import ExitTracker
from fakecgroup_mount.host.fork_events import ForkEvents
from fakecgroup_mount.host.fork_marks import LOCKS, ForkMarks, Limit
from fakecgroup_mount.host.fork_tracker import ForkTracker
from fakecgroup_mount.host.inherited_marks import ForkedProcess, InheritedMarks, mark_value
from fakecgroup_mount.host.new_pids import NewPids
from fakecgroup_mount.host.watched_processes import WatchedProcesses

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places


class ForkFollower:
    """Follows the forks of processes outside the roots, from the first `follow` on.

    `find` gives a task. `inside` tells which processes can neither see nor set marks. `listen_to_forks` and
    `listen_to_exits` open the kernel's event sources, or return None where the kernel does not allow it. Exits are
    listened to only together with forks.
    """

    def __init__(
        self,
        watched: WatchedProcesses,
        find: Callable[[int], TaskInfo | None],
        inside: Callable[[int], bool],
        listen_to_forks: Callable[[], ForkEvents | None],
        listen_to_exits: Callable[[], ExitEvents | None],
    ) -> None:
        self.begun = False
        """Whether forks are followed."""
        self._watched = watched
        self._find = find
        self._listen_to_forks = listen_to_forks
        self._listen_to_exits = listen_to_exits
        self._tracker: ForkTracker | None = None
        self._exits: ExitTracker | None = None
        self._last_exits: list[End] = []  # exits that were not taken before nobody was followed any more
        self._pids = NewPids()
        self._marks = ForkMarks()
        self._inherited = InheritedMarks(self._marks, inside)
        self._found: dict[int, Places] = {}  # processes that `forked` has not given yet
        self._child_marks: dict[int, bool] = {}  # mark of `mark_next_child` -> whether a child has inherited it

    def follow(self, tgid: int, places: Places | None) -> None:
        """The process has moved to these places, and gets a mark for them; None is the roots."""
        self._child_marks.pop(self._marks.now.get(tgid, 0), None)
        if places is not None:
            self._begin()
            self._inherited.note(tgid, places)
        if self._tracker is not None:
            self._tracker.move(tgid, places)
        self._marks.give(tgid, places)

    def follow_thread(self, tid: int, places: Places | None) -> None:
        """The thread has moved to these places, away from its leader; None is back to it. Takes fork events."""
        if self._tracker is not None:
            self._tracker.move_thread(tid, places)

    def forget(self, tgid: int) -> None:
        """The process is gone."""
        if self._tracker is not None:
            self._tracker.ended(tgid)
        self._marks.forget(tgid)

    def forget_mark(self, tgid: int) -> None:
        """A process that is not watched is gone."""
        self._marks.forget(tgid)

    def release(self) -> None:
        """Gives all processes their own limits back."""
        self.forked()
        for tgid in list(self._marks.now):
            self.follow(tgid, None)
        self._stop()

    def _begin(self) -> None:
        """Called before the first process is followed."""
        if not self.begun:
            events = self._listen_to_forks()
            self._tracker = None if events is None else ForkTracker(events)
            exits = None if events is None else self._listen_to_exits()
            self._exits = None if exits is None else ExitTracker(exits)
            self._pids.start()
            self._watched.restless.update(self._watched.tids)
            self.begun = True

    def _stop(self) -> None:
        """Called when no process is followed any more."""
        self.begun = False
        if self._tracker is not None:
            self._tracker.close()
            self._tracker = None
        if self._exits is not None:
            self._last_exits += self._exits.take()
            self._exits.close()
            self._exits = None

    # -- limits, which the marks replace ----------------------------------------------------------

    def own_limit(self, tid: int) -> Limit:
        """The RLIMIT_LOCKS that a thread's process has set itself. Raises OSError."""
        soft, hard = resource.prlimit(tid, LOCKS)
        known = self._marks.known(soft)
        return (soft, hard) if known is None else known.limit

    def set_own_limit(self, tgid: int, limit: Limit) -> None:
        """A known process sets its RLIMIT_LOCKS. Its mark stays. Raises OSError."""
        soft, hard = resource.prlimit(tgid, LOCKS)
        known = self._marks.known(soft)
        self._begin()
        self._marks.put(tgid, None if known is None else known.places, limit, hard)

    # -- children in other places than their parent -----------------------------------------------

    def mark_next_child(self, tgid: int, places: Places) -> int:
        """Gives the process a mark for a child that is to start in `places`. Returns the mark. `follow` ends it."""
        self._begin()
        hard = resource.prlimit(tgid, LOCKS)[1]
        self._marks.put(tgid, places, self.own_limit(tgid), hard)
        mark = self._marks.now.get(tgid, 0)
        self._child_marks[mark] = False
        return mark

    def is_inherited(self, mark: int) -> bool:
        """Whether a known child has inherited a mark of `mark_next_child`."""
        return self._child_marks.get(mark, False)

    def child_places(self, tid: int) -> Places | None:
        """Where a child would start that a thread's process forks now; None for the roots. Reads its mark only."""
        try:
            mark = self._marks.read(tid)
        except (ProcessLookupError, PermissionError):
            return None
        return None if mark is None else mark.places

    # -- what has happened ------------------------------------------------------------------------

    def forked(self) -> list[tuple[TaskInfo, Places]]:
        """The processes that were forked in a cgroup and that the model does not know, oldest first.

        Does nothing while no process is followed. What fails for a shortage is found again at the next call.
        """
        if not self.begun:
            return []
        self._watched.find_exited()
        if self._tracker is None:
            self._find_by_marks()
        else:
            self._take_events(self._tracker)
        found = self._take_found() if self._found else []
        if self._marks.forget_old():
            self._inherited.forget_all_but(self._marks.places())
        if not (self._marks or self._tracker):
            self._stop()
        return found

    def ended(self) -> Iterable[End] | None:
        """The exits since the last call; None without exit events."""
        last, self._last_exits = self._last_exits, []
        return last or None if self._exits is None else last + self._exits.take()

    def _take_found(self) -> list[tuple[TaskInfo, Places]]:
        """The found processes that still exist. They get a mark of their own."""
        found = [(self._find(tgid), tgid, places) for tgid, places in self._found.items()]
        self._found = {}
        for task, tgid, places in found:
            if task is not None:
                self._marks.give(tgid, places)
                continue
            self.forget(tgid)
            if self._exits is not None:
                self._exits.add_gone(tgid, places)
        return [(task, places) for task, _, places in found if task is not None]

    def _take_events(self, tracker: ForkTracker) -> None:
        watched = self._watched
        for tgid, places in tracker.take():
            if tgid not in watched.tids:
                self._found[tgid] = places
            elif watched.may_be_reused(tgid):
                tracker.put_back(tgid, places)  # until the process that had this pid before is gone
        watched.restless.update(tgid for tgid in tracker.take_threads() if tgid in watched.tids)
        try:
            self._admit(self._inherited.judge(self._siblings(tracker.take_root_children()), siblings=True))
            if tracker.lost:
                tracker.reset(self._found.keys() | watched.tids.keys() - watched.exited - watched.dead)
                watched.restless.update(watched.tids)
                self._find_by_marks()
        except BaseException:
            tracker.mark_lost()
            raise

    def _find_by_marks(self) -> None:
        try:
            self._admit(self._inherited.judge(self._new()))
        except BaseException:
            self._pids.list_next()
            raise

    def _admit(self, forked: Iterable[ForkedProcess]) -> None:
        for tgid, places in forked:
            if places is None:
                self._marks.give(tgid, None)
                continue
            self._found[tgid] = places
            if self._tracker is not None:
                self._tracker.move(tgid, places)

    def _siblings(self, root_children: Iterable[int]) -> Iterator[tuple[int, int]]:
        """The children of processes in the roots that have a mark of ours all the same, and the mark (CLONE_PARENT)."""
        for tgid in root_children:
            try:
                mark = mark_value(tgid)
            except ProcessLookupError:
                continue
            if mark is not None and self._marks.known(mark) is not None and tgid not in self._watched.tids:
                yield tgid, mark

    def _new(self) -> Iterator[tuple[int, int]]:
        """The processes that are new since the last look and have a mark of ours, and the mark. Notes new threads."""
        watched = self._watched
        pids, has_threads = self._pids.take()
        if not has_threads:
            watched.restless.update(watched.tids)
        for tid in pids:
            if tid in self._found:
                continue
            if tid in watched.tids:
                if watched.may_be_reused(tid):
                    self._pids.put_back(tid)
                continue
            try:
                mark = mark_value(tid)
            except ProcessLookupError:
                self._pids.put_back(tid)
                continue
            self._pids.settle(tid)
            tgid = tasks.leader(tid)
            if tgid != tid:
                if tgid in watched.tids:
                    watched.restless.add(tgid)
            elif mark is not None and self._marks.known(mark) is not None and self._marks.now.get(tid) != mark:
                if mark in self._child_marks:
                    self._child_marks[mark] = True
                yield tid, mark
