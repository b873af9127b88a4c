"""A cgroup with a limit on memory: what it may have, and what a look at its processes has found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fakecgroup.controllers.memory.css import PAGE_COUNTER_MAX, Memory
from fakecgroup.core.cftype import PAGE_SIZE
from fakecgroup.core.cgroup import Cgroup

NONE = 1 << 63  # bytes: no limit


@dataclass(slots=True, eq=False)
class LimitedCgroup:
    """A cgroup with a limit. Amounts are bytes, times are monotonic seconds.

    `size` is memory.max, `swap` what may be moved out, and above `high` processes are slowed down.
    """

    css: Memory
    size: int = NONE
    swap: int = 0
    high: int = NONE
    waits: bool = False  # nobody is killed
    tgids: list[int] = field(default_factory=list)
    due: float = 0.0  # when it is to be looked at next
    sure: float = 0.0  # until then it cannot be over a limit
    precise: float = 0.0  # when it is to be looked at precisely next, as pages that are shared become private
    enough: int = 0  # what a quick look has to find before a precise one is worth it

    looks: int = 0
    most: int = 0  # what may be charged, by the last look
    certain: int | None = None  # what is certainly charged, if the last look was a precise one
    surplus: int = 0  # what a quick look counts too much, by the last precise one
    shmem: int = 0  # what a quick look has counted of shared memory, at the last one
    looked_at_shmem: int = 0  # the same, at the last precise one
    forgiven: int = 0  # of shared memory that outlives its victims: what was over the limit when they were killed
    sharing: list[int] = field(default_factory=list)  # who has certain shared memory
    had: dict[int, int] = field(default_factory=dict)  # of each process at the last look
    growing: list[int] = field(default_factory=list)  # processes that had more at the last look than before
    grown: dict[int, int] = field(default_factory=dict)  # since something was done for the last time
    to_act: bool = False  # the last look has found something to do
    let_be: int = 0  # what is over the limit is let be up to this
    rests: bool = False  # none of its processes had run lately at the last look
    rested: int | None = None  # what a quick look had found at the last precise one, if none had run lately then
    fitted: int = 0  # what a quick look had found when pages were taken last
    lowered: bool = False  # it is over a limit that was written since
    doubted: bool = False  # the log says that what is uncertain was left alone

    held: set[int] = field(default_factory=set)  # stopped until there is room, as the OOM killer is disabled
    asleep: dict[int, float] = field(default_factory=dict)  # stopped for memory.high, until a time
    uncounted: dict[int, int] = field(default_factory=dict)  # grown over memory.high, less than a batch

    def take(self) -> None:
        """Begins a new list of processes; the limits may have been written."""
        self.tgids = []
        self.due = self.sure = 0.0
        if self.is_current:
            return
        high = high_of(self.css)
        if high > self.high:
            self.asleep = dict.fromkeys(self.asleep, 0.0)
        self.size, self.swap, self.high = size_of(self.css), swap_of(self.css), high
        self.waits = self.waits_for_room
        self.precise, self.enough, self.fitted, self.doubted, self.rested = 0.0, 0, 0, False, None

    @property
    def is_current(self) -> bool:
        """Whether the cgroup is there and its limits are as they were."""
        written = size_of(self.css), swap_of(self.css), high_of(self.css), self.waits_for_room
        return not self.css.cgroup.dead and written == (self.size, self.swap, self.high, self.waits)

    @property
    def limit(self) -> int:
        """What can be charged before somebody is killed. What is in swap stays there when its limit is lowered."""
        return NONE if self.size == NONE else self.size + max(self.swap, self.css.last_used.swap)

    @property
    def charged(self) -> int:
        """What is charged, by the last look. What shared memory has grown by since a precise one may be others'."""
        return self.most - self.surplus - max(0, self.shmem - self.looked_at_shmem)

    @property
    def full(self) -> str:
        """Which counter refuses when somebody is killed, by the beginning of its files' v1 names."""
        if not self.css.on_dfl and self.css.memsw_max * PAGE_SIZE <= self.size + self.swap:
            return "memory.memsw."
        return "memory."

    @property
    def waits_for_room(self) -> bool:
        """Whether nobody is killed: v1's oom_kill_disable."""
        return self.css.oom_kill_disable and not self.css.on_dfl


def limits_above(cgroup: Cgroup) -> Iterator[Memory]:
    """The groups with a limit to which the processes of a cgroup are charged, the nearest first."""
    css = cgroup.effective_css("memory")
    if isinstance(css, Memory):
        for above in css.counters():
            if min(above.max, above.high) != PAGE_COUNTER_MAX:
                yield above


def size_of(css: Memory) -> int:
    """Bytes of memory.max, or memory.limit_in_bytes."""
    return NONE if css.max == PAGE_COUNTER_MAX else css.max * PAGE_SIZE


def swap_of(css: Memory) -> int:
    """Bytes of a cgroup that may be moved to swap."""
    if css.on_dfl:
        swap = min((above.swap_max for above in css.counters()), default=0) * PAGE_SIZE
    else:
        swap = (css.memsw_max - css.max) * PAGE_SIZE if css.swappiness else 0
    return max(0, min(swap, css.machine.swap))


def high_of(css: Memory) -> int:
    """Bytes of memory.high, above which processes are slowed down."""
    return NONE if css.high == PAGE_COUNTER_MAX or not css.on_dfl else css.high * PAGE_SIZE
