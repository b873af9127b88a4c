"""Stops processes with SIGSTOP, for the cgroup freezer and for limits."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from fakecgroup_mount.host import tasks, usage
from fakecgroup_mount.host.freeze_watchdog import FreezeObserver
from fakecgroup_mount.host.watched_processes import WatchedProcesses

FREEZER = "freezer"
"""The reason of `freeze`."""
_INIT = 1
_PATIENCE, _PAUSE = 1.0, 0.0005  # seconds for processes to stop, and between two looks
_STOPPING = 50_000_000  # ns on a CPU; a thread that has run for longer does not stop soon
_STOPPED_OR_GONE = ("T", "t", "Z", "X")


class Freezer:
    """Stops and resumes processes, and tells `observer` of it.

    A process may be stopped for several reasons (the cgroup freezer, a limit), and goes on when there is none left.
    This process, init, `never_frozen` processes and kernel threads are not stopped.
    """

    def __init__(
        self, watched: WatchedProcesses, observer: FreezeObserver | None, never_frozen: frozenset[int]
    ) -> None:
        self._watched = watched
        self._observer = observer
        self._never_frozen = {_INIT, os.getpid(), *never_frozen}
        self._frozen: dict[int, set[object]] = {}  # why, by process

    def freeze(self, tgid: int, frozen: bool) -> None:
        """Stops a process for the cgroup freezer, or lets it go on. One that others have stopped stays so."""
        if frozen:
            self.hold(tgid, FREEZER)
        else:
            self.let_go(tgid, FREEZER)

    def hold(self, tgid: int, why: object) -> None:
        """Sends SIGSTOP, unless the process is stopped already."""
        known = self._frozen.get(tgid)
        if known is not None:
            known.add(why)
            if why is FREEZER:
                self._tell(tgid)
            return
        if tgid in self._never_frozen:
            return
        stat = usage.stat_of(tgid)
        if not stat or int(stat[tasks.FLAGS]) & tasks.PF_KTHREAD:
            return
        if stat[tasks.STATE] not in _STOPPED_OR_GONE or (stat[tasks.STATE] == "t" and _is_traced_here(tgid)):
            self._frozen[tgid] = {why}
            self._tell(tgid)
            self._watched.signal(tgid, signal.SIGSTOP)

    def hold_again(self, tgid: int) -> None:
        """Sends SIGSTOP once more to a process that somebody else has continued."""
        if tgid in self._frozen and tasks.state(tgid) == "R" and not tasks.pending_stops(tgid):
            self._watched.signal(tgid, signal.SIGSTOP)  # to a stopped one it would look like somebody else's

    def let_go(self, tgid: int, why: object) -> None:
        """Sends SIGCONT to a process that we have stopped, if this was the last reason.

        SIGCONT takes stop signals away that came meanwhile, such as that of ^Z: they are sent again.
        """
        known = self._frozen.get(tgid)
        if known is None or why not in known:
            return
        known.remove(why)
        if known:
            if why is FREEZER:
                self._tell(tgid)
            return
        pending = tasks.pending_stops(tgid)
        self._watched.signal(tgid, signal.SIGCONT)
        for number in pending:
            self._watched.signal(tgid, number)
        self.forget(tgid)  # after the signal, so that the observer explains a stopped process until then

    def _tell(self, tgid: int) -> None:
        """Tells the observer that a process is stopped."""
        pidfd = self._watched.pidfds.get(tgid)
        if self._observer is None or pidfd is None:
            return
        stat = usage.stat_of(tgid)
        if stat:
            self._observer.add(tgid, pidfd, stat[tasks.START], frozen=FREEZER in self._frozen[tgid])

    def forget(self, tgid: int) -> None:
        """The process was resumed or has ended."""
        if self._frozen.pop(tgid, None) is not None and self._observer is not None:
            self._observer.remove(tgid)

    def settle(self, tgids: Iterable[int]) -> bool:
        """Waits up to a second until all threads of frozen processes have stopped; returns whether they have.

        A fork that is under way ends before its thread stops. On a busy machine a thread may wait long for the CPU that
        it needs to stop.
        """
        deadline = time.monotonic() + _PATIENCE
        stopped = True
        for tgid in self._frozen.keys() & set(tgids):
            for tid in tasks.live_threads(tgid) or ():
                begun = None
                while tasks.state(tid) == "R":
                    begun = usage.thread_cpu(tid) if begun is None else begun
                    if time.monotonic() > deadline or usage.thread_cpu(tid) - begun > _STOPPING:
                        stopped = False
                        break
                    time.sleep(_PAUSE)
        return stopped

    def thaw_all(self) -> None:
        """Resumes all frozen processes."""
        for tgid, reasons in list(self._frozen.items()):
            for why in list(reasons):
                self.let_go(tgid, why)


def _is_traced_here(tgid: int) -> bool:
    """Whether a thread of ours traces a process (`traced_holds`): it will go on."""
    return os.path.exists(f"/proc/self/task/{tasks.tracer_of(tgid)}")
