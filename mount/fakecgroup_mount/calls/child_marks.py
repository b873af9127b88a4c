"""Processes that have, for the time of one call, the mark of the cgroup that their next child starts in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

from fakecgroup_mount.calls.continued_call import wait_for_outcome
from fakecgroup_mount.calls.mounted_tree import MountedTree, Places
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import Call, Continue
from fakecgroup_mount.seccomp.process import thread_group

_NOBODY = 0


class ChildMarks:
    """Whatever else such a process forks would start there too, by another thread or right after: it waits."""

    def __init__(self, tree: MountedTree, processes: HostProcesses) -> None:
        self._tree = tree
        self._processes = processes
        self._changed = threading.Condition()
        self._lent: dict[int, int] = {}  # process -> the thread whose call it is for, or nobody's any more

    @property
    def any(self) -> bool:
        """Whether there is such a process."""
        return bool(self._lent)

    def begin(self, tgid: int, tid: int) -> None:
        """The process is about to get a mark for a call of its thread; waits for the end of the one that it has."""
        with self._changed:
            self._wait(tgid, tid)
            self._lent[tgid] = tid

    def end(self, tgid: int) -> None:
        """The process has its own mark again."""
        with self._changed:
            self._lent.pop(tgid, None)
            self._changed.notify_all()

    def wait(self, tid: int) -> None:
        """Until the process of a thread has its own mark. Raises OSError: no such thread."""
        if self._lent:
            tgid = thread_group(tid)
            with self._changed:
                self._wait(tgid, tid)

    def _wait(self, tgid: int, tid: int) -> None:
        """A thread that asks again, as after a signal, has left the call that the mark was for."""
        if self._lent.get(tgid) == tid:
            self._lent[tgid] = _NOBODY
        self._changed.wait_for(lambda: tgid not in self._lent)

    def goes_for_child(self, call: Call, tgid: int, away: Places, *then: Callable[[], None]) -> Continue:
        """The call may go on and make a child that starts `away`; after that those of its process start where it is
        again. Each of `then` is done whether there was a child or not. Raises OSError.
        """
        membership = self._tree.kernel.membership
        with self._tree.lock:
            mark = self._processes.mark_next_child(tgid, away)

        def has_come() -> bool:
            with self._tree.lock:
                membership.adopt_forked()
                return self._processes.is_inherited(mark)

        def give_back() -> None:
            with self._tree.lock:
                home = membership.places(tgid, tgid)  # it may have been moved meanwhile
                self._processes.follow(tgid, None if all(place.parent is None for place in home) else home)

        return self.goes(call, tgid, has_come, give_back, *then)

    def goes(self, call: Call, tgid: int, has_come: Callable[[], bool], *after: Callable[[], None]) -> Continue:
        """The call may go on; what it makes is waited for, and then each of `after` is done, whatever becomes of the
        others, before the process is let go.
        """
        tid, number = call.tid, call.number

        def then() -> None:
            with ExitStack() as stack:
                stack.callback(self.end, tgid)
                for work in reversed(after):
                    stack.callback(work)
                wait_for_outcome(tid, number, has_come, lambda: self._lent.get(tgid) == _NOBODY)

        return Continue(then)
