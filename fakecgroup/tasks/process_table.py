"""Processes that exist only in the model, for a `Kernel` without a mount."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from errno import ESRCH
from typing import TYPE_CHECKING

from ..credentials.capability import ALL_PRIVILEGES, NO_PRIVILEGES, Privileges
from ..refuse import refuse
from .processes import TaskInfo
from .usage import CpuTime, CpuUse, Faults, MemoryUse, ProcessMemory

if TYPE_CHECKING:
    from .place import Places
    from .processes import End
    from .tid import Tid


NO_MEMORY = MemoryUse()


class ProcessTable:
    """A table of processes that use what `use` says, else nothing. pid 1 is init, pid 2 kthreadd.

    With `first` the table is empty at the start, and its pids begin there. Methods that change a task raise
    ProcessLookupError (ESRCH) if it is not there.
    """

    frozen: set[Tid]
    stopped: set[Tid]  # by a signal
    _tasks: dict[Tid, TaskInfo]
    _granted: dict[Tid, Privileges]
    _tids: dict[Tid, list[Tid]]  # by process, leaders first
    _used: dict[Tid, CpuUse]
    _next: int

    def __init__(self, first: int | None = None) -> None:
        self._tasks = {}
        if first is None:
            self._tasks = {1: TaskInfo(1, 1), 2: TaskInfo(2, 2, movable=False)}
        self._granted = dict.fromkeys(self._tasks, ALL_PRIVILEGES)
        self._tids = {tgid: [tgid] for tgid in self._tasks}
        self._used = {}
        self.frozen = set()
        self.on_kill: Callable[[int], None] = lambda tgid: None  # before a process is killed
        self.before_cpu: Callable[[int], None] = lambda tgid: None  # before it is told what a process has used
        self.memory_of: Callable[[int], MemoryUse] = lambda tgid: NO_MEMORY  # that a live process has
        self.stopped = set()
        # 180 has an 8 in it, so that "0180" is neither an octal number nor a pid
        self._next = 180 if first is None else first

    def find(self, tid: int) -> TaskInfo | None:
        return self._tasks.get(tid)

    def threads(self, tgid: int) -> list[int]:
        return [tid for tid in self._tids.get(tgid, ()) if not self._tasks[tid].zombie]

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """All of them: a task may end here without a report."""
        return tgids

    def all(self) -> list[int]:
        return [task.tid for task in self._tasks.values() if task.tid == task.tgid and not task.zombie]

    def tids(self) -> Collection[int]:
        """All tasks, zombies too."""
        return self._tasks.keys()

    def newest(self) -> int:
        return self._next - 1

    def privileges(self, tid: int) -> Privileges:
        """What `grant` gave; else all privileges for a task added as root, none for others."""
        return self._granted.get(tid, NO_PRIVILEGES)

    def grant(self, tid: int, privileges: Privileges) -> None:
        """Set the privileges of a task."""
        self._task(tid)
        self._granted[tid] = privileges

    def watch(self, tgid: int) -> None:
        pass

    def follow(self, tgid: int, places: Places | None) -> None:
        pass

    def follow_thread(self, tid: int, places: Places | None) -> None:
        pass

    def forked(self) -> Iterable[tuple[TaskInfo, Places]]:
        """Nothing: `Kernel.fork` places each child itself."""
        return ()

    def ended(self) -> Iterable[End] | None:
        """None: no ends are reported, as nothing is used."""
        return None

    def freeze(self, tgid: int, frozen: bool) -> None:
        """Note which processes are `frozen`."""
        (self.frozen.add if frozen else self.frozen.discard)(tgid)

    def stop(self, tgid: int, stopped: bool) -> None:
        """Stop or continue a process, as SIGSTOP and SIGCONT do; a frozen one stays frozen."""
        self._task(tgid)
        (self.stopped.add if stopped else self.stopped.discard)(tgid)

    def waits(self, tgid: int) -> bool:
        """True if a process is frozen or stopped."""
        return tgid in self.frozen or tgid in self.stopped

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        return True

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        self.before_cpu(tgid)
        return self._used.get(tgid)

    def use(self, tgid: int, used: CpuUse) -> None:
        """Set the CPU time that a process has used by now."""
        self._task(tgid)
        self._used[tgid] = used

    def thread_cpu(self, tid: int) -> int:
        return 0

    def memory(self, tgid: int) -> ProcessMemory:
        task = self._tasks.get(tgid)
        use = NO_MEMORY if task is None or task.zombie else self.memory_of(tgid)
        return ProcessMemory(use, resident=use.total + use.swap, peak=use.total + use.swap)

    def resident(self, tgid: int) -> int:
        return self.memory(tgid).resident

    def machine_cpu(self) -> Sequence[CpuTime]:
        return ()

    def machine_memory(self) -> MemoryUse:
        total = MemoryUse()
        for tgid in self.all():
            total = total.plus(self.memory_of(tgid))
        return total

    def machine_faults(self) -> Faults:
        return Faults()

    def wake(self, seconds: float | None) -> None:
        pass

    def _task(self, tid: int) -> TaskInfo:
        if tid not in self._tasks:
            raise refuse(ESRCH)
        return self._tasks[tid]

    def kill(self, tgid: int) -> None:
        self.on_kill(tgid)
        for tid in self.threads(tgid):
            self.exit(tid)

    def add(self, *, uid: int = 0, suid: int | None = None, tgid: int | None = None, movable: bool = True) -> int:
        """Add a process, or with `tgid` a thread of that process. Returns its tid."""
        if tgid is not None:
            self._task(tgid)
        tid, self._next = self._next, self._next + 1
        self._tasks[tid] = TaskInfo(
            tid, tid if tgid is None else tgid, uid, uid if suid is None else suid, movable=movable
        )
        self._granted[tid] = NO_PRIVILEGES if uid else ALL_PRIVILEGES
        self._tids.setdefault(tid if tgid is None else tgid, []).append(tid)
        return tid

    def take(self, task: TaskInfo) -> None:
        """Take a task that has a number already."""
        self._tasks[task.tid] = task
        self._granted[task.tid] = NO_PRIVILEGES if task.uid else ALL_PRIVILEGES
        self._tids.setdefault(task.tgid, []).append(task.tid)
        self._next = max(self._next, task.tid + 1)

    def set_uid(self, tid: int, uid: int, suid: int) -> None:
        """Set the real and the saved uid of a task."""
        self._tasks[tid] = self._task(tid)._replace(uid=uid, suid=suid)

    def exit(self, tid: int) -> None:
        """End a task: a leader becomes a zombie until `reap`, any other thread is gone."""
        task = self._task(tid)
        if task.tgid == tid:
            self._tasks[tid] = task._replace(zombie=True)
        else:
            del self._tasks[tid], self._granted[tid]
            self._tids[task.tgid].remove(tid)

    def reap(self, tid: int) -> None:
        """Remove a task that its parent has waited for."""
        task = self._task(tid)
        del self._tasks[tid], self._granted[tid]
        self._tids[task.tgid].remove(tid)
        if not self._tids[task.tgid]:
            del self._tids[task.tgid]
        self._used.pop(tid, None)
        self.frozen.discard(tid)
        self.stopped.discard(tid)
