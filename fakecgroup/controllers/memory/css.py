"""The state that the memory controller keeps per cgroup, for both versions (mm/memcontrol.c).

Limits are in pages, as in the kernel's page counters. Two things are charged to a fake cgroup: the kernel's own memory
for the groups below it, and the memory that its processes have. A limit restrains the first, and simulated processes
by the `Reclaimer` of their world; real ones only where it is enforced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from errno import EINVAL, ENOMEM
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...core.cftype import PAGE_SIZE
from ...core.css import Css
from ...credentials.caller import EventFd
from ...machine.personality import Personality, Version
from ...parse import memparse, strstrip
from ...refuse import refuse
from ...tasks.tid import Tid
from ...tasks.usage import Faults, MemoryUse
from .pressure_level import PressureListener
from .watermark import Peak, Threshold

if TYPE_CHECKING:
    from ...core.reclaimer import Reclaimer

PAGE_COUNTER_MAX = ((1 << 63) - 1) // PAGE_SIZE  # pages; "no limit"

# Pages that a group is charged for its first, second ... child, and so on in turn (seen with 4 CPUs and 2 NUMA nodes).
# Measured on 5.10, 6.1, 6.12 and 7.2; what 6.16 to 6.18 answer fits those of 7.2.
_CHILD_PAGES = {(5, 10): (4, 3, 3), (6, 1): (4, 4, 4, 4, 2), (6, 12): (4,), (6, 16): (7, 4)}
_CHILD_PAGES_OF_A_SMALL_KERNEL = (3, 2)  # seen on 6.18 with NR_CPUS_256, 2 CPUs and 1 node
# The limits on charges, in the order in which they are tried, by the beginning of their file's v1 name.
_LIMITS = (("memory.memsw.", "memsw_max"), ("memory.", "max"), ("memory.kmem.", "kmem_max"))


class Memory(Css):
    """Limits and `usage` in pages, `PAGE_COUNTER_MAX` for no limit.

    `usage` is the kernel's memory for the groups below, `nr_children` of which have this controller.
    """

    min: int = 0
    low: int = 0
    high: int = PAGE_COUNTER_MAX
    max: int = PAGE_COUNTER_MAX
    swap_high: int = PAGE_COUNTER_MAX
    swap_max: int = PAGE_COUNTER_MAX
    zswap_max: int = PAGE_COUNTER_MAX
    zswap_writeback: bool = True
    usage: int = 0
    nr_children: int = 0
    charged: bool = False  # its parent was charged for it
    events: Mapping[str, int] = MappingProxyType({})  # here and below
    events_local: Mapping[str, int] = MappingProxyType({})
    oom_group: bool = False
    # v1
    memsw_max: int = PAGE_COUNTER_MAX
    soft_limit: int = PAGE_COUNTER_MAX
    kmem_max: int = PAGE_COUNTER_MAX
    tcpmem_max: int = PAGE_COUNTER_MAX
    use_hierarchy: bool = True
    swappiness: int = 60
    oom_kill_disable: bool = False
    move_charge: int = 0
    event_fds: tuple[EventFd, ...] = ()
    oom_event_fds: tuple[EventFd, ...] = ()
    pressure_listeners: tuple[PressureListener, ...] = ()
    scanned: int = 0  # pages, since listeners were told last (struct vmpressure)
    reclaimed_of_scanned: int = 0
    waiting: tuple[Tid, ...] = ()  # processes that wait for room, as the OOM killer is disabled
    failcnt: Mapping[str, int] = MappingProxyType({})  # by the beginning of the file's name
    # marks of the usage
    watermark: Mapping[str, int] = MappingProxyType({})  # peak in bytes, by the beginning of the file's v1 name
    peaks: Iterable[Peak] = ()  # of open files
    swap_peak: int = 0  # bytes
    swap_peaks: Iterable[Peak] = ()  # of open files
    swap_events: Mapping[str, int] = MappingProxyType({})  # here and below
    thresholds: tuple[Threshold, ...] = ()

    def online(self) -> None:
        """Charge the parent for this child; on v1 inherit swappiness, oom_kill_disable and use_hierarchy
        (mem_cgroup_css_alloc).

        Raises ENOMEM if the parent, or a group above it, has no room.
        """
        parent = self.parent
        if not isinstance(parent, Memory):
            return
        parent.charge(parent.child_pages(parent.nr_children))
        parent.nr_children += 1
        self.charged = True
        if not self.on_dfl:
            self.swappiness = parent.swappiness
            self.oom_kill_disable = parent.oom_kill_disable
            self.use_hierarchy = parent.use_hierarchy

    def offline(self) -> None:
        """Signal every eventfd (memcg_event_remove), and uncharge the parent."""
        for event in self.event_fds:
            event.signal()
        self.cgroup.hierarchy.membership.awaited.discard(self)
        if self.charged and isinstance(self.parent, Memory):
            self.parent.nr_children -= 1
            self.parent.uncharge(self.parent.child_pages(self.parent.nr_children))

    def child_pages(self, number: int) -> int:
        """Pages that the kernel allocates for a child after `number` others."""
        kernel = self.kernel
        costs = _child_costs(kernel.version, "NR_CPUS_256" in kernel.config)
        return costs[number % len(costs)]

    def counters(self) -> Iterator[Memory]:
        """This group and those above that are charged with it: up to the root or to use_hierarchy 0, both excluded."""
        css: Css | None = self
        while isinstance(css, Memory) and css.parent is not None:
            yield css
            css = css.parent
            if isinstance(css, Memory) and not css.use_hierarchy:
                return

    def group_above(self) -> Memory | None:
        """The css of the parent; None for the root."""
        return self.parent if isinstance(self.parent, Memory) else None

    def charge(self, pages: int) -> None:
        """Charge pages (try_charge). Raises ENOMEM over a limit: there is no process to kill."""
        if self.parent is None:
            return
        counters = list(self.counters())
        for prefix, attribute in _LIMITS:
            for css in counters:
                if css.usage + pages > getattr(css, attribute):
                    if prefix != "memory.memsw." or not self.kernel.at_least(6, 18):  # 6.18 no longer counts these
                        css.failcnt = {**css.failcnt, prefix: css.failcnt.get(prefix, 0) + 1}
                    if prefix != "memory.kmem.":
                        css.note_event("max")
                        css.note_oom()
                    raise refuse(ENOMEM)
        for css in counters:
            css.usage += pages
            css.memory_changed(0)

    def uncharge(self, pages: int) -> None:
        for css in self.counters():
            css.usage -= pages

    # -- what processes use -----------------------------------------------------------------------

    @property
    def takes_memory(self) -> int:  # type: ignore[override]
        """The bits of memory.move_charge_at_immigrate (mem_cgroup_can_attach)."""
        return self.move_charge

    def used(self) -> MemoryUse:
        """Memory of the processes here and below now; in the root, of the whole machine."""
        if self.parent is None:
            self.settle()
            used = self.cgroup.hierarchy.processes.machine_memory()
            if used is not None:
                return used
        self.cgroup.hierarchy.membership.count_memory(self.cgroup)
        self.settle()
        return self.last_used

    def settle(self) -> None:
        """Let limits act on what real processes have by now, where they are enforced."""
        enforcer = self.cgroup.hierarchy.membership.enforcer
        if enforcer is not None:
            enforcer.settle(self.cgroup)

    def used_here(self) -> MemoryUse:
        """Memory of the processes here now, without the groups below; in the root, of the whole machine."""
        used = self.used()
        return used if self.parent is None else self.cgroup.memory_here

    def faults(self) -> Faults:
        """Page faults here and below up to the last look; in the root, of the whole machine."""
        if self.parent is None:
            return self.cgroup.hierarchy.processes.machine_faults()
        return self.cgroup.faults if self.use_hierarchy else self.cgroup.faults_here

    def faults_here(self) -> Faults:
        """Page faults here up to the last look, without the groups below; in the root, of the whole machine."""
        return self.faults() if self.parent is None else self.cgroup.faults_here

    @property
    def last_used(self) -> MemoryUse:
        """Memory of the processes at the last look."""
        return self.cgroup.memory if self.use_hierarchy else self.cgroup.memory_here

    def bytes_used(self) -> int:
        """Bytes used by processes, and by the kernel for the groups below."""
        return self.used().total + self.usage * PAGE_SIZE

    def kernel_bytes(self) -> int:
        """Bytes of `bytes_used` that are the kernel's."""
        return self.used().kernel + self.usage * PAGE_SIZE

    def swap_bytes(self) -> int:
        """Bytes of processes that are in swap."""
        return self.used().swap

    def bytes_and_swap(self) -> int:
        """Bytes used, in memory and in swap."""
        return self.bytes_used() + self.last_used.swap

    @property
    def pages(self) -> int:
        """Pages used at the last look."""
        return -(-self.last_used.total // PAGE_SIZE) + self.usage

    @property
    def swap_pages(self) -> int:
        """Pages in swap at the last look."""
        return self.last_used.swap // PAGE_SIZE

    @property
    def reclaimer(self) -> Reclaimer | None:
        """Who reclaims memory of processes; None if nobody does."""
        return self.cgroup.hierarchy.membership.reclaimer

    def pages_held(self) -> int:
        """Pages that reclaim cannot free: all but file pages; with swap, only the kernel's."""
        used = self.used()
        held = used.kernel if self.machine.swap else used.total - used.file
        return self.usage + -(-held // PAGE_SIZE)

    def memory_changed(self, spike: int) -> None:
        """Update the peaks, and signal thresholds that are crossed.

        Where limits are enforced on real processes, what they have touched beyond a limit before they were stopped
        does not count.
        """
        if self.parent is None:
            return
        used, groups = self.last_used, self.usage * PAGE_SIZE
        kernel, usage, swap = used.kernel + groups, used.total + groups, used.swap
        if self.cgroup.hierarchy.membership.enforcer is not None:
            most = self.max * PAGE_SIZE
            usage, spike = min(usage, most), max(0, min(usage + spike, most) - min(usage, most))
        marks = (("memory.", usage + spike), ("memory.memsw.", usage + swap + spike), ("memory.kmem.", kernel))
        for prefix, value in marks:
            if value > self.watermark.get(prefix, 0):
                self.watermark = {**self.watermark, prefix: value}
        if swap > self.swap_peak:
            self.swap_peak = swap
        for peak in self.swap_peaks:
            peak.value = max(peak.value, swap)
        for peak in self.peaks:
            peak.value = max(peak.value, usage + spike)
        for threshold in self.thresholds:
            threshold.compare(usage + swap if threshold.memsw else usage)

    def note_event(self, name: str, count: int = 1) -> None:
        """Count an event in memory.events of this group and those above it (memcg_memory_event)."""
        self.events_local = {**self.events_local, name: self.events_local.get(name, 0) + count}
        self.cgroup.notify("memory.events.local")
        for css in self.counters():
            css.events = {**css.events, name: css.events.get(name, 0) + count}
            css.cgroup.notify("memory.events")

    def note_swap_event(self, name: str, count: int = 1) -> None:
        """Count an event in memory.swap.events of this group and those above it (memcg_memory_event)."""
        for css in self.counters():
            css.swap_events = {**css.swap_events, name: css.swap_events.get(name, 0) + count}
            css.cgroup.notify("memory.swap.events")

    def note_failure(self, prefix: str, count: int) -> None:
        """Count charges that a limit has refused (struct page_counter, failcnt)."""
        self.failcnt = {**self.failcnt, prefix: self.failcnt.get(prefix, 0) + count}

    def note_full(self) -> None:
        """Note that the usage has been at the limit, of processes that were killed before it was counted."""
        for css in self.counters():
            if self.max * PAGE_SIZE > css.watermark.get("memory.", 0):
                css.watermark = {**css.watermark, "memory.": self.max * PAGE_SIZE}

    def note_oom(self) -> None:
        """Count an out-of-memory event; on v1 signal listeners here and below, unless oom_kill_disable is set
        (mem_cgroup_oom_notify).
        """
        self.note_event("oom")
        if not (self.on_dfl or self.oom_kill_disable):
            self.signal_oom()

    def signal_oom(self) -> None:
        """Signal the listeners for out of memory, here and below (mem_cgroup_oom_notify)."""
        for cgroup in (self.cgroup, *self.cgroup.descendants()):
            below = cgroup.csses["memory"]
            assert isinstance(below, Memory)
            for event in below.oom_event_fds:
                event.signal()

    @property
    def is_under_oom(self) -> bool:
        """True if a task waits for room in this group, or in one above (mem_cgroup_mark_under_oom)."""
        tasks = [self.cgroup.hierarchy.processes.find(pid) for css in self.counters() for pid in css.waiting]
        return any(task is not None and not task.zombie for task in tasks)


@cache
def _child_costs(version: Version, small: bool) -> tuple[int, ...]:
    if small and version >= (6, 18):
        return _CHILD_PAGES_OF_A_SMALL_KERNEL
    return _CHILD_PAGES[max(known for known in _CHILD_PAGES if known <= version)]


def parse_pages(text: str, unlimited: str, kernel: Personality) -> int:
    """Pages of a size in bytes, rounded down; `unlimited` is the word for no limit (page_counter_memparse).

    Raises EINVAL for text after the size.
    """
    text = strstrip(text)
    if text == unlimited:
        return PAGE_COUNTER_MAX
    size, rest = memparse(text, saturate=kernel.saturates)
    if rest:
        raise refuse(EINVAL)
    return min(size // PAGE_SIZE, PAGE_COUNTER_MAX)
