"""Threads that are in another cgroup than their leader: what they make starts where they are."""

from __future__ import annotations

from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Continue
from fakecgroup_mount.seccomp.process import thread_group
from fakecgroup_mount.seccomp.syscalls import CLONE_THREAD


class ThreadCgroups:
    """A process has the mark of its leader's place. So while such a thread forks it is lent another; and a new thread
    of the process that is seen meanwhile is the one that it has made.
    """

    def __init__(self, tree: MountedTree, child_marks: ChildMarks) -> None:
        self._tree = tree
        self._child_marks = child_marks

    def has(self, tid: int) -> bool:
        return tid in self._tree.kernel.membership.moved_threads

    def start(self, call: Call, flags: int) -> Answer:
        """Lets the call of such a thread go on. Raises OSError."""
        tgid = thread_group(call.tid)
        self._child_marks.begin(tgid, call.tid)
        goes = CONTINUE
        try:
            if call.waits():
                goes = self._thread(call, tgid) if flags & CLONE_THREAD else self._process(call, tgid)
        finally:
            if goes is CONTINUE:
                self._child_marks.end(tgid)
        return goes

    def _thread(self, call: Call, tgid: int) -> Continue:
        membership = self._tree.kernel.membership
        with self._tree.lock:
            before = membership.expect_thread(tgid, call.tid)

        def has_come() -> bool:
            with self._tree.lock:
                return not membership.adopt_threads(tgid) <= before

        def expect_no_more() -> None:
            with self._tree.lock:
                membership.expect_no_thread(tgid)

        return self._child_marks.goes(call, tgid, has_come, expect_no_more)

    def _process(self, call: Call, tgid: int) -> Continue:
        membership = self._tree.kernel.membership
        with self._tree.lock:
            membership.adopt_forked()
            away = membership.places(call.tid, tgid)
        return self._child_marks.goes_for_child(call, tgid, away)
