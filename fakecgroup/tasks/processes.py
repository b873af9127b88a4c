"""The tasks of the machine. The model asks `Processes`; a mount answers from /proc, a test from a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, runtime_checkable

from ..credentials.capability import Privileges
from ..named_tuple import NamedTuple
from .place import Places
from .tid import Tid
from .usage import CpuTime, CpuUse, Faults, MemoryUse, ProcessMemory


class TaskInfo(NamedTuple):
    """One thread, with its real and its saved uid. A kernel thread that must stay is not `movable`."""

    tid: Tid
    tgid: Tid
    uid: int = 0
    suid: int = 0
    zombie: bool = False
    movable: bool = True


class End(NamedTuple):
    """The end of a thread that had run for `run` ns.

    If its process ended with it, `whole` is the CPU time of the process, `peak` the most bytes it had resident, and
    `inherited` those of them that it had from its parent at the fork. `places` is where a process was forked
    that the model does not know.
    """

    tid: int
    tgid: int
    run: int
    whole: CpuTime | None = None
    peak: int = 0
    inherited: int = 0
    places: Places | None = None


@runtime_checkable
class Processes(Protocol):
    """The tasks of the machine, as the model asks for them.

    An implementation also reports what happens to tasks: `Kernel.task_exited`, `Kernel.task_reaped`.
    """

    def find(self, tid: int) -> TaskInfo | None:
        """The thread `tid`, None if there is none."""

    def threads(self, tgid: int) -> list[int]:
        """The live threads of a process."""

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """The processes among these that may have exited, or have other threads than at the last call of `threads`."""

    def all(self) -> list[int]:
        """The live processes."""

    def newest(self) -> int:
        """The tid that was given out last."""

    def privileges(self, tid: int) -> Privileges:
        """The privileges of a thread; none if it is gone."""

    def watch(self, tgid: int) -> None:
        """Report the exit of this process from now on: it is in a cgroup."""

    def follow(self, tgid: int, places: Places | None) -> None:
        """Note that a process is about to be in these cgroups (None: the roots), and so are its later children."""

    def follow_thread(self, tid: int, places: Places | None) -> None:
        """Note that a thread is in other cgroups than its leader (None: no longer), and so are its later children."""

    def forked(self) -> Iterable[tuple[TaskInfo, Places]]:
        """The leaders of processes that were forked in a cgroup since the last call, oldest first.

        The places are those of the parent at the fork.
        """

    def ended(self) -> Iterable[End] | None:
        """The threads that have ended since the last call; None if this implementation reports no ends.

        At least those that were in a cgroup are reported, though some may be lost. The model calls `forked` first.
        """

    def kill(self, tgid: int) -> None:
        """Send SIGKILL to a process, for cgroup.kill."""

    def freeze(self, tgid: int, frozen: bool) -> None:
        """Stop or continue a process. The same may be asked twice."""

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        """Wait a little until these processes, told to stop, run and fork no more. False if some still do."""

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        """The CPU time of a process, zombies included. None if it was waited for, or if nobody counts its time.

        Without `exact` the last answer may be given again if the process does not seem to have run since: its clock
        stands still between two ticks, and its parent and its children's time may already be out of date.
        """

    def thread_cpu(self, tid: int) -> int:
        """ns that a live thread has run; 0 if unknown."""

    def memory(self, tgid: int) -> ProcessMemory:
        """The memory of a process: after its exit only the faults, after its reaping nothing."""

    def resident(self, tgid: int) -> int:
        """The bytes that a process has in memory, shared or not (`ProcessMemory.resident`)."""

    def machine_cpu(self) -> Sequence[CpuTime]:
        """CPU time of the whole machine, by CPU; empty if nobody counts it."""

    def machine_memory(self) -> MemoryUse | None:
        """Memory of the whole machine; None for what the processes in the tree's cgroups have charged."""

    def machine_faults(self) -> Faults:
        """Page faults of the whole machine."""

    def wake(self, seconds: float | None) -> None:
        """Call `Kernel.look` within this time; None: no call is needed."""
