"""Real and simulated processes in one tree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from .process_table import ProcessTable
from .tid import FIRST_SIMULATED
from .usage import CpuTime, CpuUse, Faults, MemoryUse, ProcessMemory

if TYPE_CHECKING:
    from ..credentials.capability import Privileges
    from .place import Places
    from .processes import End, Processes, TaskInfo

_ASKED = (
    *("find", "threads", "changing", "all", "privileges", "watch", "follow", "follow_thread", "kill", "freeze"),
    *("settle_stopped", "cpu", "thread_cpu", "memory", "resident", "machine_memory"),
    *("forked", "ended", "newest", "wake"),
)


def is_simulated(tid: int) -> bool:
    """True for a number that a simulated process may have."""
    return FIRST_SIMULATED <= tid < 2 * FIRST_SIMULATED


class JoinedProcesses:
    """`Processes` of which those from FIRST_SIMULATED on are in the table `simulated`, and others the `host`'s.

    Until `begin` its methods are the host's own, so a tree without simulated processes pays nothing for them. `stirred`
    is set when a simulated process was killed, stopped or continued.
    """

    def __init__(self, host: Processes) -> None:
        self._host = host
        self.simulated = ProcessTable(FIRST_SIMULATED)
        self.begun = False
        self.stirred = False
        self._entered: set[int] | None = None  # real processes that were in a cgroup; None: all are listed
        self.belongs: Callable[[int], bool] = lambda tgid: False
        for name in _ASKED:
            setattr(self, name, getattr(host, name))

    def begin(self) -> None:
        """Take simulated processes into account from now on."""
        if not self.begun:
            self.begun = True
            for name in _ASKED:
                delattr(self, name)

    def _of(self, tid: int) -> Processes:
        return self.simulated if tid >= FIRST_SIMULATED else self._host

    def find(self, tid: int) -> TaskInfo | None:
        return self._of(tid).find(tid)

    def threads(self, tgid: int) -> list[int]:
        return self._of(tgid).threads(tgid)

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """Of simulated processes those that were killed and whose end the kernel has not been told yet."""
        real = [tgid for tgid in tgids if tgid < FIRST_SIMULATED]
        killed = [tgid for tgid in tgids if tgid >= FIRST_SIMULATED] if self.stirred else []
        return [*self._host.changing(real), *killed]

    def hide_strangers(self) -> None:
        """List real processes from now on only if they have been in a cgroup, or `belongs` says that they are to be.

        The tree is of another machine: its roots neither list nor count the processes of this one.
        """
        self.begin()
        self._entered = set()

    def all(self) -> list[int]:
        real = self._host.all()
        if self._entered is not None:
            self._entered.intersection_update(real)
            real = [tgid for tgid in real if tgid in self._entered or self.belongs(tgid)]
        return real + self.simulated.all()

    def newest(self) -> int:
        """The newest tid of the machine; simulated processes are not forked by others."""
        return self._host.newest()

    def privileges(self, tid: int) -> Privileges:
        return self._of(tid).privileges(tid)

    def watch(self, tgid: int) -> None:
        if self._entered is not None:
            self._entered.add(tgid)
        self._of(tgid).watch(tgid)

    def follow(self, tgid: int, places: Places | None) -> None:
        self._of(tgid).follow(tgid, places)

    def follow_thread(self, tid: int, places: Places | None) -> None:
        self._of(tid).follow_thread(tid, places)

    def forked(self) -> Iterable[tuple[TaskInfo, Places]]:
        return self._host.forked()

    def ended(self) -> Iterable[End] | None:
        """The real ones; the kernel is told of the end of each simulated process when it ends."""
        return self._host.ended()

    def kill(self, tgid: int) -> None:
        if tgid >= FIRST_SIMULATED:
            self.stirred = True
        self._of(tgid).kill(tgid)

    def freeze(self, tgid: int, frozen: bool) -> None:
        if tgid >= FIRST_SIMULATED:
            self.stirred = True
        self._of(tgid).freeze(tgid, frozen)

    def stop(self, tgid: int, stopped: bool) -> None:
        """Stop or continue a simulated process, as SIGSTOP and SIGCONT do. Raises ProcessLookupError (ESRCH)."""
        self.simulated.stop(tgid, stopped)
        self.stirred = True

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        return self._host.settle_stopped([tgid for tgid in tgids if tgid < FIRST_SIMULATED])

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        return self._of(tgid).cpu(tgid, exact=exact)

    def thread_cpu(self, tid: int) -> int:
        return self._of(tid).thread_cpu(tid)

    def memory(self, tgid: int) -> ProcessMemory:
        return self._of(tgid).memory(tgid)

    def resident(self, tgid: int) -> int:
        return self._of(tgid).resident(tgid)

    def machine_cpu(self) -> Sequence[CpuTime]:
        """That of the machine; simulated processes do not run on it."""
        return self._host.machine_cpu() if self._entered is None else ()

    def machine_memory(self) -> MemoryUse | None:
        """None: simulated processes live on a machine of their own, where the tree's processes alone use memory."""
        return None if self._entered is None else self.simulated.machine_memory()

    def machine_faults(self) -> Faults:
        return self._host.machine_faults() if self._entered is None else Faults()

    def wake(self, seconds: float | None) -> None:
        self._host.wake(seconds)
