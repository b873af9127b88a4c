"""Which tasks there are. The model asks; a mount answers from /proc, a test from a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from errno import ESRCH
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from .capability import ALL_PRIVILEGES, NO_PRIVILEGES, Privileges
from .refuse import refuse

if TYPE_CHECKING:
    from .cgroup import Cgroup

    Places = tuple[Cgroup, ...]  # one per hierarchy


class TaskInfo(NamedTuple):
    """One thread, with its real and its saved uid; a thread that may not be moved is not `movable`."""

    tid: int
    tgid: int
    uid: int = 0
    suid: int = 0
    zombie: bool = False
    movable: bool = True


class CpuTime(NamedTuple):
    """Time on CPUs in ns: `run` as the scheduler counts it; `user` and `system` as the timer's tick finds them, so that
    their sum is about `run`; and `nice`, the part of `user` with a lowered priority.
    """

    run: int = 0
    user: int = 0
    system: int = 0
    nice: int = 0

    def plus(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.run + other.run, self.user + other.user, self.system + other.system, self.nice + other.nice)

    def less(self, other: CpuTime) -> CpuTime:
        """What is left without `other`, nothing negative."""
        return CpuTime(*(max(0, mine - its) for mine, its in zip(self, other, strict=True)))


class CpuUse(NamedTuple):
    """What a process has used since its start: it alone, and the `children` that it has waited for (proc_pid_stat(5),
    cutime). `start` tells it from a later process of the same number, `cpu` is where it ran last. A `zombie` waits for
    nobody any more.
    """

    start: int
    parent: int
    own: CpuTime
    children: CpuTime
    cpu: int = 0
    zombie: bool = False


class End(NamedTuple):
    """A thread has ended that had run for `run` ns; `whole` is what its process has used if that ended with it, which
    had `peak` bytes resident at most, and of them had `inherited` some from its parent.

    A process that the model was not told of was forked in `places`.
    """

    tid: int
    tgid: int
    run: int
    whole: CpuTime | None = None
    peak: int = 0
    inherited: int = 0
    places: Places | None = None


class MemoryUse(NamedTuple):
    """What is in memory, in bytes: anonymous, mapped from files, shared (tmpfs and such), kernel stacks, page tables.

    `huge` is the part of `anon` in huge pages, `locked` that of `anon`, `file` and `shmem` that is kept in memory
    (mlock(2)).
    """

    anon: int = 0
    file: int = 0
    shmem: int = 0
    stacks: int = 0
    tables: int = 0
    huge: int = 0
    locked: int = 0

    def plus(self, other: MemoryUse) -> MemoryUse:
        return MemoryUse(*map(int.__add__, self, other))

    def less(self, other: MemoryUse) -> MemoryUse:
        return MemoryUse(*map(int.__sub__, self, other))

    @property
    def kernel(self) -> int:
        return self.stacks + self.tables

    @property
    def total(self) -> int:
        return self.anon + self.file + self.shmem + self.kernel


class Faults(NamedTuple):
    """Page faults, and those of them that had to read from a disk, `major`."""

    total: int = 0
    major: int = 0

    def plus(self, other: Faults) -> Faults:
        return Faults(self.total + other.total, self.major + other.major)

    def less(self, other: Faults) -> Faults:
        """What is left without `other`, nothing negative."""
        return Faults(max(0, self.total - other.total), max(0, self.major - other.major))


class ProcessMemory(NamedTuple):
    """The memory of a process. `image` changes when it executes another program; `resident` and the most that there
    ever was of it, `peak`, are in bytes and count all that is mapped, shared or not. `faults` are all since its start.
    """

    use: MemoryUse
    image: object = None
    resident: int = 0
    peak: int = 0
    faults: Faults = Faults()


@runtime_checkable
class Processes(Protocol):
    """The tasks of the machine.

    Whoever answers also tells the model what happens to them: `Kernel.task_exited`, `Kernel.task_reaped`.
    """

    def find(self, tid: int) -> TaskInfo | None:
        """The thread `tid`, or None where there is none."""

    def threads(self, tgid: int) -> list[int]:
        """The live threads of a process."""

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """Those of these processes that may have other threads than the model knows; the others live as it knows."""

    def all(self) -> list[int]:
        """The processes that live."""

    def newest(self) -> int:
        """The tid that was given out last."""

    def privileges(self, tid: int) -> Privileges:
        """What the thread is privileged to; nothing for one that is gone."""

    def watch(self, tgid: int) -> None:
        """The model has a process in a cgroup and wants to hear of its exit."""

    def follow(self, tgid: int, places: Places | None) -> None:
        """A process is about to be in these cgroups, None being the roots; what it forks from now on starts there."""

    def follow_thread(self, tid: int, places: Places | None) -> None:
        """A thread is in other cgroups than its leader; what it forks from now on starts there. With None it is not."""

    def forked(self) -> Iterable[tuple[TaskInfo, Places]]:
        """The leaders of processes that came into being in a cgroup and were not told of yet, the oldest first.

        With each comes where its parent was when it forked.
        """

    def ended(self) -> Iterable[End] | None:
        """The threads that have ended since this was asked, at least those that were in a cgroup; asked after `forked`.

        None: nobody tells of them. Who does tells of all, but for those that are lost.
        """

    def kill(self, tgid: int) -> None:
        """SIGKILL to a process, for cgroup.kill."""

    def freeze(self, tgid: int, frozen: bool) -> None:
        """The process stands still from now on, or goes on; both may be said more than once."""

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        """Waits a little until these, which were told to stand still, do so and fork no more; False where some do not
        yet.
        """

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        """The CPU time of a process, zombies included; None for one that was waited for or whose time nobody counts.

        It may be the answer given last where the process does not seem to have run since, unless it is to be `exact`:
        the clock of one that runs stands still between two ticks, and its parent and what it has waited for may be
        others already.
        """

    def thread_cpu(self, tid: int) -> int:
        """ns that a live thread has run; 0 where that is not known."""

    def memory(self, tgid: int) -> ProcessMemory:
        """The memory of a process: for one that has exited only its faults, and not even these if it is gone."""

    def machine_cpu(self) -> Sequence[CpuTime]:
        """What all of the machine has used, by CPU; empty where nobody counts."""

    def machine_memory(self) -> MemoryUse:
        """What all of the machine has in memory."""

    def machine_faults(self) -> Faults:
        """The page faults of all of the machine."""

    def wake(self, seconds: float | None) -> None:
        """The model wants `Kernel.look` to be called in this time; with None it need not be."""


class ProcessTable:
    """Processes that exist only here: for a model without a mount. pid 1 is init, pid 2 kthreadd.

    What changes a task raises ProcessLookupError (ESRCH) for one that is not there.
    """

    def __init__(self) -> None:
        self._tasks: dict[int, TaskInfo] = {1: TaskInfo(1, 1), 2: TaskInfo(2, 2, movable=False)}
        self._granted = {1: ALL_PRIVILEGES, 2: ALL_PRIVILEGES}
        self._next = 180  # a pid with an 8 in it is no octal number, so "0180" is no pid

    def find(self, tid: int) -> TaskInfo | None:
        return self._tasks.get(tid)

    def threads(self, tgid: int) -> list[int]:
        return [task.tid for task in self._tasks.values() if task.tgid == tgid and not task.zombie]

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """All: who ends one here need not tell."""
        return tgids

    def all(self) -> list[int]:
        return [task.tid for task in self._tasks.values() if task.tid == task.tgid and not task.zombie]

    def newest(self) -> int:
        return self._next - 1

    def privileges(self, tid: int) -> Privileges:
        """As `grant` has said; else all for who was root when it was added."""
        return self._granted.get(tid, NO_PRIVILEGES)

    def grant(self, tid: int, privileges: Privileges) -> None:
        """What the task is privileged to from now on."""
        self._task(tid)
        self._granted[tid] = privileges

    def watch(self, tgid: int) -> None:
        pass

    def follow(self, tgid: int, places: Places | None) -> None:
        pass

    def follow_thread(self, tid: int, places: Places | None) -> None:
        pass

    def forked(self) -> Iterable[tuple[TaskInfo, Places]]:
        """None: `Kernel.fork` tells of each."""
        return ()

    def ended(self) -> Iterable[End] | None:
        """Nobody: nothing here uses anything."""
        return None

    def freeze(self, tgid: int, frozen: bool) -> None:
        """Nothing here ever runs."""

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        return True

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        return None

    def thread_cpu(self, tid: int) -> int:
        return 0

    def memory(self, tgid: int) -> ProcessMemory:
        return ProcessMemory(MemoryUse())

    def machine_cpu(self) -> Sequence[CpuTime]:
        return ()

    def machine_memory(self) -> MemoryUse:
        return MemoryUse()

    def machine_faults(self) -> Faults:
        return Faults()

    def wake(self, seconds: float | None) -> None:
        pass

    def _task(self, tid: int) -> TaskInfo:
        if tid not in self._tasks:
            raise refuse(ESRCH)
        return self._tasks[tid]

    def kill(self, tgid: int) -> None:
        for tid in self.threads(tgid):
            self.exit(tid)

    def add(self, *, uid: int = 0, suid: int | None = None, tgid: int | None = None) -> int:
        """A new process, or with `tgid` a new thread of that process; returns its tid."""
        if tgid is not None:
            self._task(tgid)
        tid, self._next = self._next, self._next + 1
        self._tasks[tid] = TaskInfo(tid, tid if tgid is None else tgid, uid, uid if suid is None else suid)
        self._granted[tid] = NO_PRIVILEGES if uid else ALL_PRIVILEGES
        return tid

    def set_uid(self, tid: int, uid: int, suid: int) -> None:
        """The task's real and saved uid from now on."""
        self._tasks[tid] = self._task(tid)._replace(uid=uid, suid=suid)

    def exit(self, tid: int) -> None:
        """The task dies: a leader becomes a zombie until `reap`, another thread is gone."""
        task = self._task(tid)
        if task.tgid == tid:
            self._tasks[tid] = task._replace(zombie=True)
        else:
            del self._tasks[tid], self._granted[tid]

    def reap(self, tid: int) -> None:
        """The parent has waited for it."""
        self._task(tid)
        del self._tasks[tid], self._granted[tid]
