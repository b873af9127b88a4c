"""The CPUs that a task may run on (kernel/sched/core.c). Masks have a bit for each CPU."""

from __future__ import annotations

from collections.abc import Collection
from errno import EINVAL
from typing import Protocol

from ..named_tuple import NamedTuple
from ..refuse import refuse
from .tid import Tid


class Affinity(NamedTuple):
    """`mask` are the CPUs that a task may run on, some of which may be offline (cpus_mask).

    `asked` are those that sched_setaffinity(2) was given, on kernels that remember them (user_cpus_ptr).
    """

    mask: int
    asked: int | None = None

    def within(self, cpus: int, online: int) -> Affinity:
        """After a cpuset has given the task these CPUs (__set_cpus_allowed_ptr).

        It gets those that it asked for, if there are any, else all. Nothing changes where none is online.
        """
        if self.asked is not None and cpus & self.asked:
            cpus &= self.asked
        return self._replace(mask=cpus) if cpus & online else self

    def asking(self, mask: int, allowed: int, online: int, *, remembers: bool) -> Affinity:
        """After sched_setaffinity(2) with `mask`, in a cpuset that allows these CPUs (__sched_setaffinity).

        Raises EINVAL if none of them is online.
        """
        cpus = mask & allowed
        if cpus != self.mask and not cpus & online:
            raise refuse(EINVAL)
        return Affinity(cpus, mask if remembers else None)

    def stranded(self, online: int) -> bool:
        """True if none of its CPUs is online."""
        return not self.mask & online


class Affinities(Protocol):
    """Keeps the affinity of each task."""

    whole_root: bool
    """Whether all tasks of the root are told of a change there; else those alone whose affinity was set."""

    def tids(self) -> Collection[int]:
        """The tasks whose affinity was set."""

    def of(self, tid: int) -> Affinity:
        """The affinity of a task. A new task has that of its maker."""

    def set(self, tid: int, affinity: Affinity) -> None:
        """Note the affinity of a task, and have it run there."""

    def runs_within(self, tid: int, cpus: int) -> bool:
        """Whether a task runs on these CPUs alone, or may run anywhere."""


class AffinityTable:
    """The affinities of tasks that exist in a table only. A task that was never told of has the CPUs `all_cpus`."""

    whole_root = True
    _known: dict[Tid, Affinity]

    def __init__(self, all_cpus: int) -> None:
        self._initial = Affinity(all_cpus)
        self._known = {}

    def tids(self) -> Collection[int]:
        return tuple(self._known)

    def of(self, tid: int) -> Affinity:
        return self._known.get(tid, self._initial)

    def set(self, tid: int, affinity: Affinity) -> None:
        self._known[tid] = affinity

    def runs_within(self, tid: int, cpus: int) -> bool:
        return not self.of(tid).mask & ~cpus

    def forget(self, tid: int) -> None:
        """Note that a task is gone."""
        self._known.pop(tid, None)
