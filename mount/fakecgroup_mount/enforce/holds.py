"""How processes are held for a limit: unseen, where we may trace them, else by SIGSTOP."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.traced_holds import TracedHolds, may_trace
from fakecgroup_mount.host.usage import cpu_clock

_RUNS_ON = 50_000_000  # ns on a CPU that nobody needs to stop, however busy the machine is
_FOR_DEBUGGER = 1.0  # seconds for a debugger to begin


class Holds(Protocol):
    """Holds processes and lets them go on (`TracedHolds`, `SignalHolds`)."""

    def hold(self, tgid: int, start: str) -> int:
        """Holds the threads of a process that run now; again, those that run since. Returns how many are held.

        Who sleeps is let be, as it would see EINTR (signal(7)). `start` is the start time of the process in
        /proc/PID/stat: another process with this pid is let be.
        """

    def let_go(self, tgid: int) -> None:
        """Lets a process go on."""

    def settle(self) -> bool:
        """Lets those go on that could not yet. Returns whether there is none left of them."""


class SignalHolds:
    """Holds whole processes with SIGSTOP. Their parents may see it. The caller holds the model's lock.

    One that runs on gets a second signal only when it has used so much CPU time that somebody must have continued it:
    to one that is about to stop it would look like a signal of somebody else, and be sent again in the end.
    """

    def __init__(self, processes: HostProcesses) -> None:
        self._processes = processes
        self._held: dict[int, int] = {}  # by tgid, how many threads ran
        self._clocks: dict[int, int | None] = {}  # by tgid, the CPU clock at the last signal

    def hold(self, tgid: int, start: str) -> int:
        """`Holds.hold`."""
        clock = cpu_clock(tgid)
        if tgid in self._held:
            before = self._clocks[tgid]
            if clock is None or before is None or clock - before < _RUNS_ON:
                return self._held[tgid]
            self._processes.hold_again(tgid)
        else:
            running = len(tasks.running_threads(tgid, start))
            if not running or tasks.tracer_of(tgid):  # a tracer would see the signal
                return 0
            self._held[tgid] = running
            self._processes.hold(tgid, self)
        self._clocks[tgid] = clock
        return self._held[tgid]

    def let_go(self, tgid: int) -> None:
        """`Holds.let_go`."""
        self._held.pop(tgid, None)
        self._clocks.pop(tgid, None)
        self._processes.let_go(tgid, self)

    def settle(self) -> bool:
        """`Holds.settle`."""
        return True


class Holding:
    """Who is held, and why: a process goes on when no reason is left. All calls are made by the thread that enforces.

    They are made within the `guard`, which is the model's lock where processes are stopped by SIGSTOP. Where they are
    traced it is none, as seizing a thread may wait for its execve(2).
    """

    def __init__(self, processes: HostProcesses, lock: threading.Lock) -> None:
        self.unseen = may_trace()
        """Nobody but the process itself is kept from anything, and that as if it had no CPU."""
        self._holds: Holds = TracedHolds() if self.unseen else SignalHolds(processes)
        self.guard: AbstractContextManager[object] = nullcontext() if self.unseen else lock
        self._reasons: dict[int, set[str]] = {}  # by tgid
        self._debugged: dict[int, float] = {}  # who is about to be traced by another, and until when

    def hold(self, tgid: int, start: str, why: str) -> int:
        """`Holds.hold`, for a reason. Nobody is held who is about to be traced by another."""
        if self._debugged.get(tgid, 0.0) > time.monotonic():
            return 0
        threads = self._holds.hold(tgid, start)
        if threads:
            self._reasons.setdefault(tgid, set()).add(why)
        return threads

    def let_go(self, tgid: int, why: str) -> None:
        """Takes a reason back."""
        reasons = self._reasons.get(tgid)
        if reasons is not None:
            reasons.discard(why)
            if not reasons:
                self._let_go(tgid)

    def spare(self, tgid: int) -> None:
        """Lets a process go on, whatever the reasons, that is about to be traced by another."""
        now = time.monotonic()
        self._debugged = {one: until for one, until in self._debugged.items() if until > now}
        self._debugged[tgid] = now + _FOR_DEBUGGER
        if tgid in self._reasons:
            self._let_go(tgid)

    def settle(self) -> bool:
        """`Holds.settle`. It needs no guard."""
        return self._holds.settle()

    def _let_go(self, tgid: int) -> None:
        del self._reasons[tgid]
        self._holds.let_go(tgid)
