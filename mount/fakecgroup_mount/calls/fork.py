"""fork(2), vfork(2), clone(2): EAGAIN where pids.max of a cgroup above is reached. clone3(2) forks by this too.

The kernel makes the child after it was told to go on, and does not report it. So a fork that goes on has room reserved
until its child is seen or the call is over. This is looked for when no room is left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from fakecgroup.controllers.pids import Pids
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.outside import pending_forks
from fakecgroup.outside.clone_flags import exclude_each_other
from fakecgroup.tasks.place import Place
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.thread_cgroups import ThreadCgroups
from fakecgroup_mount.host.newest_pid import NewestPid
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Continue, Later
from fakecgroup_mount.seccomp.process import A_FORK, children, is_single_threaded, process_ran, ran
from fakecgroup_mount.seccomp.syscalls import CLONE_NEWCGROUP, CLONE_PARENT, CLONE_THREAD, HERE

_CALLS = frozenset(b"%d" % HERE.numbers[name] for name in ("clone", "clone3", "fork", "vfork") if name in HERE.numbers)
_PATIENCE = 1.0  # seconds to wait for room that is only reserved
_PAUSE = 0.0005
_MOST = 1000  # forks under way, before those that are over are looked for


class _Fork:
    """A fork under way.

    It has room reserved in `csses`. When it went on, `newest` was the last pid that was given out; None where the child
    will not be the thread's own. A fork is cheap to begin: `process_ran` is one system call, where what the thread
    itself has run would be three.
    """

    __slots__ = ("csses", "newest", "process_ran", "ran", "tid")

    def __init__(self, tid: int, csses: tuple[Pids, ...], newest: int | None) -> None:
        self.tid = tid
        self.csses = csses
        self.newest = newest
        self.process_ran = process_ran(tid)
        self.ran: int | None = None  # ns that the thread had run at the first look that found it on a CPU

    def is_over(self, pids: NewestPid) -> bool:
        """Whether the child is there, or the thread has left the call."""
        newest = self.newest
        if newest is not None and any(pids.is_since(int(child), newest) for child in children(self.tid)):
            return True
        try:
            with open(f"/proc/{self.tid}/syscall", "rb", buffering=0) as file:
                number = file.read(256).split()[0]
        except OSError:
            return True
        return self._has_run_on() if number == b"running" else number not in _CALLS

    def _has_run_on(self) -> bool:
        """Whether the thread has run for longer than any fork takes. One of several threads is watched from now on."""
        if self.process_ran is not None and is_single_threaded(self.tid):
            return (process_ran(self.tid) or 0) - self.process_ran > A_FORK
        now = ran(self.tid)
        if self.ran is None:
            self.ran = now
        return now - self.ran > A_FORK


class ForkCalls:
    """Lets forks go on while there is room. The lock of the tree guards the list of forks under way."""

    def __init__(
        self, tree: MountedTree, namespaces: CgroupNamespaces, processes: HostProcesses, child_marks: ChildMarks
    ) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._processes = processes
        self._child_marks = child_marks
        self._thread_cgroups = ThreadCgroups(tree, child_marks)
        self._newest_pid = NewestPid()
        self._counting_in = pending_forks.counting(tree.kernel.hierarchies)
        self._under_way: dict[_Fork, None] = {}  # oldest first
        self._latest: dict[int, _Fork] = {}  # of those under way, by thread
        self._counting = threading.Lock()

    def clone(self, call: Call) -> Answer | Later:
        """clone(2)."""
        return self.start_at_once(call, call.arguments[0])

    def fork(self, call: Call) -> Answer | Later:
        """fork(2), vfork(2)."""
        return self.start_at_once(call, 0)

    def start_at_once(self, call: Call, flags: int) -> Answer | Later:
        """Does what `start` does, but decides at once where nothing has to be waited for or counted."""
        if self._child_marks.any or flags & CLONE_NEWCGROUP or self._thread_cgroups.has(call.tid):
            return Later(lambda call: self.start(call, flags))
        if not self._tree.kernel.membership.limits_tasks or exclude_each_other(flags):
            return CONTINUE
        by_mark = self._processes.child_places(call.tid)
        if by_mark is None:
            return CONTINUE
        if self._tree.lock.acquire(False):
            try:
                if self._admit_at_once(call.tid, self._place(call.tid, by_mark), flags):
                    return CONTINUE
            finally:
                self._tree.lock.release()
        return Later(lambda call: self.start(call, flags))

    def start(self, call: Call, flags: int) -> Answer:
        """Lets a fork go on whose child starts in the cgroup of its parent. Raises EAGAIN."""
        self._child_marks.wait(call.tid)
        by_mark = self._processes.child_places(call.tid)
        if by_mark is not None and not exclude_each_other(flags):
            with self._tree.lock:
                place = self._place(call.tid, by_mark)
            self._admit(call.tid, place, flags)
        if self._thread_cgroups.has(call.tid) and not flags & CLONE_NEWCGROUP:
            return self._thread_cgroups.start(call, flags)
        return Continue(self._namespaces.expect(call, for_child=True)) if flags & CLONE_NEWCGROUP else CONTINUE

    def admit(self, tid: int, places: Sequence[Cgroup], flags: int) -> None:
        """Reserves room for a child of a thread that starts in `places`. Raises EAGAIN (pids_can_fork)."""
        self._admit(tid, None if self._counting_in is None else places[self._counting_in], flags)

    def _admit(self, tid: int, place: Cgroup | None, flags: int) -> None:
        with self._tree.lock:
            if self._admit_at_once(tid, place, flags):
                return
        assert place is not None
        end = time.monotonic() + _PATIENCE
        while not self._count_and_admit(tid, place, flags, wait=time.monotonic() < end):
            time.sleep(_PAUSE)

    def _admit_at_once(self, tid: int, place: Cgroup | None, flags: int) -> bool:
        """Reserves room, if it is needed, where there is some without a count. With the tree's lock held."""
        csses = () if place is None else pending_forks.limiting(place)
        if csses and (len(self._under_way) >= _MOST or not pending_forks.have_room(csses)):
            return False
        self._reserve(tid, csses, flags)
        return True

    def _place(self, tid: int, by_mark: Sequence[Place]) -> Cgroup | None:
        """Where a child of a thread counts: in the thread's own cgroup, else in the one that its process's mark stands
        for. None where no hierarchy counts. With the tree's lock held.
        """
        number = self._counting_in
        if number is None:
            return None
        own = self._tree.kernel.hierarchies[number].cgroup_of(tid)
        if own.parent is not None:
            return own
        marked = by_mark[number]
        assert isinstance(marked, Cgroup)  # the model gave it to `HostProcesses.follow`
        return marked

    def _count_and_admit(self, tid: int, place: Cgroup, flags: int, *, wait: bool) -> bool:
        """Counts the tasks and reserves room. False: there may be room soon, and the caller may `wait`."""
        with self._counting:
            over = [
                fork
                for fork in list(self._under_way)
                if self._latest.get(fork.tid) is not fork or fork.tid == tid or fork.is_over(self._newest_pid)
            ]
            with self._tree.lock:
                csses = pending_forks.limiting(place)
                for css in csses:
                    css.cgroup.hierarchy.prune(css.cgroup, *css.cgroup.descendants())
                for fork in over:
                    self._release(fork)
                if wait and not pending_forks.have_room(csses) and pending_forks.may_have_room_soon(csses):
                    return False
                pending_forks.check(place)
                self._reserve(tid, csses, flags)
                return True

    def over(self, tid: int) -> None:
        """A thread's latest fork is over: its child is counted, or there is none. With the tree's lock held."""
        fork = self._latest.get(tid)
        if fork is not None:
            self._release(fork)

    def _reserve(self, tid: int, csses: tuple[Pids, ...], flags: int) -> None:
        if not csses:
            return
        newest = None if flags & (CLONE_THREAD | CLONE_PARENT) else self._newest_pid.read()
        fork = self._latest[tid] = _Fork(tid, csses, newest)
        self._under_way[fork] = None
        pending_forks.reserve(csses)

    def _release(self, fork: _Fork) -> None:
        if fork in self._under_way:
            del self._under_way[fork]
            if self._latest.get(fork.tid) is fork:
                del self._latest[fork.tid]
            pending_forks.release(fork.csses)
