"""Holds threads by ptrace(2): nobody sees a stop, neither a parent in waitpid(WUNTRACED) nor a shell.

A held thread is seized and interrupted, and detached to go on. Signals wait meanwhile, also SIGSTOP and SIGTSTP, as for
a thread that a kernel throttles. Only threads that run are held: one that sleeps would see EINTR (signal(7)). If this
process ends, the kernel lets everybody go on.

A seized thread that dies is a zombie until its tracer has waited for it. So a thread of ours does that now and then.
An execve(2) waits for its process's other threads to be gone; to seize the thread that makes it would wait for the
execve, and nobody else would bury the other threads: so a second thread of a process is seized only once they are
buried. The thread that makes an execve has its process's number afterwards: so a number that is known may be another
thread's by now, which is not seized yet, and the process's own is looked for, too, when a process is let go.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from errno import ESRCH
from pathlib import Path

from fakecgroup.credentials.capability import Capability
from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.credentials import Credentials

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17  # linux/ptrace.h
_WALL = 0x40000000  # linux/wait.h, __WALL: threads too
_ENDED = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)
_BURY = 0.1  # seconds

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long] * 4


def may_trace() -> bool:
    """Whether this process may trace others than its own user's, and a setuid program stays one meanwhile (execve(2)).

    That takes CAP_SYS_PTRACE. A container's seccomp profile may forbid ptrace(2) itself.
    """
    held = Credentials(os.getpid(), Path("/proc/self/status").read_bytes()).held
    return bool(held & Capability.SYS_PTRACE) and _trace(_DETACH, os.getpid()) == ESRCH


class TracedHolds:
    """The processes that are held. All calls are made by one thread: it is the tracer."""

    def __init__(self) -> None:
        self._held: dict[int, set[int]] = {}  # tgid -> its threads that are held
        self._leaving: set[int] = set()  # threads that are to go on and have not stopped yet
        self._some = threading.Event()  # somebody is held
        self._burying = False

    def hold(self, tgid: int, start: str) -> int:
        """Holds the threads of a process that run now; again, those that have begun to run.

        Returns how many are held. `start` is the start time of the process in /proc/PID/stat: another process with
        this pid is let be.
        """
        held = self._held.setdefault(tgid, set())
        for tid in tasks.running_threads(tgid, start):
            if tid in self._leaving:
                self._leaving.remove(tid)
                held.add(tid)
            elif (not held or self._buries()) and not _trace(_SEIZE, tid):  # EPERM: it is, and about to stop
                if _trace(_INTERRUPT, tid):
                    _trace(_INTERRUPT, tgid)
                held.add(tid)
        if not held:
            del self._held[tgid]
            return 0
        self._buries()
        return len(held)

    def let_go(self, tgid: int) -> None:
        """Lets a process go on."""
        for tid in {tgid, *self._held.pop(tgid, ())}:
            if not _detached(tid):
                self._leaving.add(tid)

    def settle(self) -> bool:
        """Lets threads go on that had not stopped yet. Returns whether there is none left of them."""
        for tid in tuple(self._leaving):
            if _detached(tid):
                self._leaving.discard(tid)
        if not self._held and not self._leaving:
            self._some.clear()
        return not self._leaving

    def _buries(self) -> bool:
        """Whether seized threads that die are waited for from now on."""
        self._some.set()
        if not self._burying:
            try:
                threading.Thread(target=self._bury, daemon=True).start()
                self._burying = True
            except RuntimeError:
                pass  # there are too many threads: it is tried again
        return self._burying

    def _bury(self) -> None:
        """Waits for seized threads that have died."""
        while self._some.wait():
            time.sleep(_BURY)
            held = {tid for tgid, held in tuple(self._held.items()) for tid in (tgid, *held)}
            for tid in held | self._leaving.copy():
                try:
                    found = os.waitid(os.P_PID, tid, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WALL)
                    if found is not None and found.si_code in _ENDED:  # stops are told of too, to a tracer
                        os.waitpid(tid, os.WNOHANG | _WALL)
                except ChildProcessError:
                    pass


def _trace(request: int, tid: int, data: int = 0) -> int:
    """Returns 0 or the errno."""
    return ctypes.get_errno() if _ptrace(request, tid, 0, data) else 0


def _detached(tid: int) -> bool:
    """Lets a seized thread go on. Returns False if it has not stopped yet."""
    try:
        found, status = os.waitpid(tid, os.WNOHANG | _WALL)
    except ChildProcessError:
        return True  # it was buried
    if not found:
        return False
    if not os.WIFSTOPPED(status):
        return True
    # one that was about to take a signal takes it now
    number = 0 if status >> 16 else os.WSTOPSIG(status)
    return not _trace(_DETACH, tid, number)  # if it was killed meanwhile, its end is waited for
