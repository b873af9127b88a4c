"""Forks of a thread that is in another cgroup than its process's leader: its children start in its own cgroup."""

from __future__ import annotations

from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Continue
from fakecgroup_mount.seccomp.process import thread_group
from fakecgroup_mount.seccomp.syscalls import CLONE_THREAD


class ThreadCgroups:
    """Forks of such threads. The mark of their process stands for the leader's cgroup, so they need more.

    For a new process, the process has another mark during the call. A new thread has no mark; the one that appears
    during the call is taken for it.
    """

    def __init__(self, tree: MountedTree, child_marks: ChildMarks) -> None:
        self._tree = tree
        self._child_marks = child_marks

    def has(self, tid: int) -> bool:
        """Whether a thread is in another cgroup than its leader."""
        return tid in self._tree.kernel.membership.moved_threads

    def start(self, call: Call, flags: int) -> Answer:
        """Lets the fork of such a thread go on. Raises OSError."""
        tgid = thread_group(call.tid)
        self._child_marks.begin(tgid, call.tid)
        answer = CONTINUE
        try:
            if call.waits():
                answer = self._thread(call, tgid) if flags & CLONE_THREAD else self._process(call, tgid)
        finally:
            if answer is CONTINUE:
                self._child_marks.end(tgid)
        return answer

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

        return self._child_marks.continue_and_wait(call, tgid, has_come, expect_no_more)

    def _process(self, call: Call, tgid: int) -> Continue:
        membership = self._tree.kernel.membership
        with self._tree.lock:
            membership.adopt_forked()
            places = membership.places(call.tid, tgid)
        return self._child_marks.continue_with_child_in(call, tgid, places)
