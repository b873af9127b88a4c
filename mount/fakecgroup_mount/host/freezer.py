"""Freezes processes with SIGSTOP."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from fakecgroup_mount.host import tasks, usage
from fakecgroup_mount.host.freeze_watchdog import FreezeObserver
from fakecgroup_mount.host.watched_processes import WatchedProcesses

_INIT = 1
_PATIENCE, _PAUSE = 1.0, 0.0005  # seconds for processes to stop, and between two looks
_STOPPING = 50_000_000  # ns on a CPU; a thread that has run for longer does not stop soon
_STOPPED_OR_GONE = ("T", "t", "Z", "X")


class Freezer:
    """Stops and resumes processes, and tells `observer` of it.

    This process, init, `never_frozen` processes and kernel threads are not stopped.
    """

    def __init__(
        self, watched: WatchedProcesses, observer: FreezeObserver | None, never_frozen: frozenset[int]
    ) -> None:
        self._watched = watched
        self._observer = observer
        self._never_frozen = {_INIT, os.getpid(), *never_frozen}
        self._frozen: set[int] = set()

    def freeze(self, tgid: int, frozen: bool) -> None:
        """Sends SIGSTOP, or SIGCONT to a process that we have stopped. A process that others have stopped stays so."""
        if not frozen:
            if tgid in self._frozen:
                self._watched.signal(tgid, signal.SIGCONT)
                self.forget(tgid)  # after the signal, so that the observer explains a stopped process until then
            return
        if tgid in self._frozen or tgid in self._never_frozen:
            return
        stat = usage.stat_of(tgid)
        if stat and stat[0] not in _STOPPED_OR_GONE and not int(stat[tasks.FLAGS]) & tasks.PF_KTHREAD:
            self._frozen.add(tgid)
            pidfd = self._watched.pidfds.get(tgid)
            if self._observer is not None and pidfd is not None:
                self._observer.add(tgid, pidfd, stat[tasks.START])
            self._watched.signal(tgid, signal.SIGSTOP)

    def forget(self, tgid: int) -> None:
        """The process was resumed or has ended."""
        if tgid in self._frozen:
            self._frozen.remove(tgid)
            if self._observer is not None:
                self._observer.remove(tgid)

    def settle(self, tgids: Iterable[int]) -> bool:
        """Waits up to a second until all threads of frozen processes have stopped; returns whether they have.

        A fork that is under way ends before its thread stops. On a busy machine a thread may wait long for the CPU that
        it needs to stop.
        """
        deadline = time.monotonic() + _PATIENCE
        stopped = True
        for tgid in self._frozen.intersection(tgids):
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
        for tgid in list(self._frozen):
            self.freeze(tgid, False)
