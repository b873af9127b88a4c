"""Threads that are in another cgroup than their leader: what they make starts where they are."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..processes import HostProcesses
from .lending import Lending
from .listener import GOES, Answer, Call, Goes
from .process import A_FORK, is_in_call, ran, thread_group
from .syscalls import CLONE_THREAD
from .tree import Places, Tree

_PATIENCE = 10.0  # seconds for a task to be seen, if nobody knows whether the call is over
_PAUSE = 0.0002


class ApartThreads:
    """A process has the mark of its leader's place. So while such a thread forks it is lent another; and a new thread
    of the process that is seen meanwhile is the one that it has made.
    """

    def __init__(self, tree: Tree, processes: HostProcesses, lending: Lending) -> None:
        self._tree = tree
        self._processes = processes
        self._lending = lending

    def has(self, tid: int) -> bool:
        return tid in self._tree.kernel.membership.apart

    def start(self, call: Call, flags: int) -> Answer:
        """Lets the call of such a thread go on. Raises OSError."""
        tgid = thread_group(call.tid)
        self._lending.begin(tgid)
        goes = GOES
        try:
            if call.waits():
                goes = self._thread(call, tgid) if flags & CLONE_THREAD else self._process(call, tgid)
        finally:
            if goes is GOES:
                self._lending.end(tgid)
        return goes

    def _thread(self, call: Call, tgid: int) -> Goes:
        membership, tid, number = self._tree.kernel.membership, call.tid, call.number
        with self._tree.lock:
            before = membership.expect_thread(tgid, tid)

        def has_come() -> bool:
            return not membership.adopt_threads(tgid) <= before

        def then() -> None:
            try:
                self._await(tid, number, has_come)
            finally:
                with self._tree.lock:
                    membership.expect_no_thread(tgid)
                self._lending.end(tgid)

        return Goes(then)

    def _process(self, call: Call, tgid: int) -> Goes:
        membership, tid, number = self._tree.kernel.membership, call.tid, call.number
        with self._tree.lock:
            membership.adopt_forked()
            home, away = membership.places(tgid, tgid), membership.places(tid, tgid)
            mark = self._processes.lend(tgid, away)

        def has_come() -> bool:
            membership.adopt_forked()
            return self._processes.has_passed_on(mark)

        def then() -> None:
            try:
                self._await(tid, number, has_come)
            finally:
                with self._tree.lock:
                    self._processes.follow(tgid, _outside_roots(home))
                self._lending.end(tgid)

        return Goes(then)

    def _await(self, tid: int, number: int, has_come: Callable[[], bool]) -> None:
        """Until the new task is there, or the call is over without one."""
        end, begun = time.monotonic() + _PATIENCE, ran(tid)
        over = False
        while not over and time.monotonic() < end:
            over = not is_in_call(tid, number) or ran(tid) - begun > A_FORK
            with self._tree.lock:
                if has_come():
                    return
            time.sleep(_PAUSE)


def _outside_roots(places: Places) -> Places | None:
    return None if all(place.parent is None for place in places) else places
