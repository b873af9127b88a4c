"""Amounts that processes use: CPU time, memory, page faults."""

from __future__ import annotations

from ..named_tuple import NamedTuple
from .huge_pages import HugePages
from .tid import Tid


class CpuTime(NamedTuple):
    """Time on CPUs in ns.

    `run` is the scheduler's count. `user` and `system` come from the timer's tick, so their sum is only about `run`.
    `nice` is the part of `user` at a lowered priority.
    """

    run: int = 0
    user: int = 0
    system: int = 0
    nice: int = 0

    def plus(self, other: CpuTime) -> CpuTime:
        """The sum, field by field."""
        return CpuTime(self.run + other.run, self.user + other.user, self.system + other.system, self.nice + other.nice)

    def less(self, other: CpuTime) -> CpuTime:
        """The difference, field by field, never negative."""
        return CpuTime(*(max(0, mine - its) for mine, its in zip(self, other, strict=True)))


NO_TIME = CpuTime()


class CpuUse(NamedTuple):
    """CPU time of one process since its start.

    `own` is its own, `children` that of the children it has waited for (proc_pid_stat(5), cutime). `start` tells it
    from a later process of the same number, `cpu` is where it ran last. A `zombie` no longer waits for children.
    """

    start: int
    parent: Tid
    own: CpuTime
    children: CpuTime
    cpu: int = 0
    zombie: bool = False


class MemoryUse(NamedTuple):
    """Bytes in memory: anonymous, mapped from files, shared (tmpfs and such), kernel stacks, page tables.

    `huge` is the part of `anon` in huge pages. `locked` is the part of `anon`, `file` and `shmem` that mlock(2) keeps
    in memory. `slab` is other memory of the kernel. `swap` is anonymous memory that is in swap, and not in memory.
    `cold` is the part of `file` that was not used lately.
    """

    anon: int = 0
    file: int = 0
    shmem: int = 0
    stacks: int = 0
    tables: int = 0
    huge: int = 0
    locked: int = 0
    slab: int = 0
    swap: int = 0
    cold: int = 0

    def plus(self, other: MemoryUse) -> MemoryUse:
        """The sum, field by field."""
        return MemoryUse(*map(int.__add__, self, other))

    def less(self, other: MemoryUse) -> MemoryUse:
        """The difference, field by field; it may be negative."""
        return MemoryUse(*map(int.__sub__, self, other))

    @property
    def kernel(self) -> int:
        """Bytes that the kernel holds for the process: stacks, page tables and others."""
        return self.stacks + self.tables + self.slab

    @property
    def total(self) -> int:
        """All bytes that are charged."""
        return self.anon + self.file + self.shmem + self.kernel


class Faults(NamedTuple):
    """Page faults: `total` is all of them, `major` those that read from a disk."""

    total: int = 0
    major: int = 0

    def plus(self, other: Faults) -> Faults:
        """The sum, field by field."""
        return Faults(self.total + other.total, self.major + other.major)

    def less(self, other: Faults) -> Faults:
        """The difference, field by field, never negative."""
        return Faults(max(0, self.total - other.total), max(0, self.major - other.major))


class ProcessMemory(NamedTuple):
    """Memory of one process.

    `image` changes when the process executes another program. `resident` is bytes mapped now, shared or not, `peak`
    the most there ever was. `faults` counts since the start of the process. `huge_pages` are of hugetlb.
    """

    use: MemoryUse
    image: object = None
    resident: int = 0
    peak: int = 0
    faults: Faults = Faults()
    huge_pages: HugePages = HugePages()
