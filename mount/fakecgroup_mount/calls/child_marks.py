"""Marks that a process has for one call, so that its next child starts in another cgroup than its own.

A child starts in the cgroup that its parent's mark stands for (`host.fork_marks`). Until the child is there, the
process has the mark of the child's cgroup. All that it forks meanwhile would start there too, so its other forks wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

from fakecgroup_mount.calls.continued_call import wait_for_outcome
from fakecgroup_mount.calls.mounted_tree import MountedTree, Places
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import Call, Continue
from fakecgroup_mount.seccomp.process import thread_group

_ABANDONED = 0  # instead of a thread: the call has been left


class ChildMarks:
    """The processes that have a mark for one call at the moment."""

    def __init__(self, tree: MountedTree, processes: HostProcesses) -> None:
        self._tree = tree
        self._processes = processes
        self._changed = threading.Condition()
        self._forking: dict[int, int] = {}  # process -> the thread that makes the call

    @property
    def any(self) -> bool:
        """Whether any process has such a mark."""
        return bool(self._forking)

    def begin(self, tgid: int, tid: int) -> None:
        """Reserves a process for a call of its thread. Waits for the end of a call that it is reserved for."""
        with self._changed:
            self._wait(tgid, tid)
            self._forking[tgid] = tid

    def end(self, tgid: int) -> None:
        """The process has its own mark again, and its other forks go on."""
        with self._changed:
            self._forking.pop(tgid, None)
            self._changed.notify_all()

    def wait(self, tid: int) -> None:
        """Waits until a thread's process has its own mark. Raises OSError: no such thread."""
        if self._forking:
            tgid = thread_group(tid)
            with self._changed:
                self._wait(tgid, tid)

    def _wait(self, tgid: int, tid: int) -> None:
        """Waits, with the condition held. A thread that calls again, as after a signal, has left its former call."""
        if self._forking.get(tgid) == tid:
            self._forking[tgid] = _ABANDONED
        self._changed.wait_for(lambda: tgid not in self._forking)

    def continue_with_child_in(self, call: Call, tgid: int, places: Places, *then: Callable[[], None]) -> Continue:
        """Lets the call go on, so that its child starts in `places`. Later children start where the process is.

        Each of `then` is done afterwards, whether there was a child or not. Raises OSError.
        """
        membership = self._tree.kernel.membership
        with self._tree.lock:
            mark = self._processes.mark_next_child(tgid, places)

        def has_come() -> bool:
            with self._tree.lock:
                membership.adopt_forked()
                return self._processes.is_inherited(mark)

        def restore_mark() -> None:
            with self._tree.lock:
                home = membership.places(tgid, tgid)  # the process may have been moved meanwhile
                self._processes.follow(tgid, None if all(place.parent is None for place in home) else home)

        return self.continue_and_wait(call, tgid, has_come, restore_mark, *then)

    def continue_and_wait(
        self, call: Call, tgid: int, has_come: Callable[[], bool], *after: Callable[[], None]
    ) -> Continue:
        """Lets the call go on and waits for its outcome. Then it does each of `after`, even if another one fails.

        At the end the process is no longer reserved.
        """
        tid, number = call.tid, call.number

        def then() -> None:
            with ExitStack() as stack:
                stack.callback(self.end, tgid)
                for work in reversed(after):
                    stack.callback(work)
                wait_for_outcome(tid, number, has_come, lambda: self._forking.get(tgid) == _ABANDONED)

        return Continue(then)
