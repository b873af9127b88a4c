"""How processes are held for a limit: unseen, where we may trace them, else by SIGSTOP."""

from __future__ import annotations

from typing import Protocol

from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.processes import HostProcesses


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
    """Holds whole processes with SIGSTOP. Their parents may see it. The caller holds the model's lock."""

    def __init__(self, processes: HostProcesses) -> None:
        self._processes = processes
        self._held: dict[int, int] = {}  # by tgid, how many threads ran

    def hold(self, tgid: int, start: str) -> int:
        """`Holds.hold`."""
        if tgid in self._held:
            self._processes.hold_again(tgid)
        else:
            running = len(tasks.running_threads(tgid, start))
            if not running or tasks.tracer_of(tgid):  # a tracer would see the signal
                return 0
            self._held[tgid] = running
            self._processes.hold(tgid, self)
        return self._held[tgid]

    def let_go(self, tgid: int) -> None:
        """`Holds.let_go`."""
        self._held.pop(tgid, None)
        self._processes.let_go(tgid, self)

    def settle(self) -> bool:
        """`Holds.settle`."""
        return True
