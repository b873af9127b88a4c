"""What a simulated process holds in memory, and what it still asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..core.cftype import PAGE_SIZE
from ..effects.page_tables import pages_within, tables_for
from ..tasks.usage import MemoryUse

if TYPE_CHECKING:
    from ..controllers.memory.css import Memory
    from ..core.cgroup import Cgroup
    from .phase import Phase
    from .process import Process

_SECOND = 1_000_000_000  # ns
UNIT = PAGE_SIZE * _SECOND  # a page that grows at a byte per second, in ns


@dataclass(eq=False, slots=True)
class Holding:
    """Pages of one process, which are charged to `counters` (None: not looked at yet).

    `cold` is the part of `file` that reclaim can drop, `swap` what it has moved out. `tables` map `anon` and `swap`.
    `asks` are pages that it wants at once, by kind; with anonymous ones their tables. From `since` on its anonymous
    memory grows, with its tables, by `rate` bytes per second, if it is not asleep until `wakes`, or content with what
    it was charged ahead until `until`. `blocked` is what it waits for without an end: room in a cgroup that is out of
    memory.
    """

    process: Process
    cgroup: Cgroup
    counters: tuple[Memory, ...] | None = None
    anon: int = 0
    swap: int = 0
    file: int = 0
    cold: int = 0
    kernel: int = 0
    tables: int = 0
    asks: dict[str, int] = field(default_factory=dict)
    share: float = 1.0  # of new file pages that are cold
    rate: int = 0
    since: int = 0
    part: int = 0  # of a page, in UNIT
    wakes: int = 0
    until: int = 0
    blocked: str | None = None
    frozen: bool = False

    @property
    def rss(self) -> int:
        """Pages that count for the OOM killer (get_mm_rss)."""
        return self.anon

    @property
    def oom_score_adj(self) -> int:
        return self.process.oom_score_adj

    @property
    def asked(self) -> int:
        """Pages that it wants at once."""
        return sum(self.asks.values())

    @property
    def pages(self) -> int:
        """All that it holds, swapped out or not."""
        return self.anon + self.swap + self.tables + self.file + self.kernel

    def idle(self, now: int) -> bool:
        """True if it neither grows nor asks for memory, nor sleeps or waits for some."""
        return not (self.rate or self.asks or self.blocked or self.wakes > now or self.until > now)

    def growing(self, now: int) -> bool:
        """True if its memory grows steadily now."""
        return self.rate > 0 and now >= self.until and not (self.frozen or self.blocked or self.asks)

    def grown(self, now: int) -> int:
        """What it has grown by `now` and is not among its pages yet, in UNIT."""
        return self.part + self.rate * max(0, now - self.since)

    def settle(self, now: int) -> None:
        """Add what it has grown up to now."""
        if now > self.since and self.growing(self.since):
            pages, self.part = divmod(self.grown(now), UNIT)
            self._add_anon(pages)
        self.since = max(now, self.since, self.until)

    def take(self, phase: Phase) -> None:
        """Free what it no longer needs in a phase, and ask for what it needs more."""
        self.share = phase.reclaimable
        self.asks = {kind: pages for kind, pages in self.asks.items() if not _states(phase, kind)}
        if phase.kernel is not None:
            self._want("kernel", phase.kernel, self.kernel)
        if phase.file is not None:
            self._want("file", phase.file, self.file)
        if phase.memory is None:
            self.rate = 0
            return
        if phase.memory.start is not None:
            self._want("anon", phase.memory.start, self.anon + self.swap)
        self.rate, self.part = phase.memory.rate, 0

    def _want(self, kind: str, size: int, held: int) -> None:
        more = -(-size // PAGE_SIZE) - held
        if more > 0:
            self.asks[kind] = more
            if kind == "anon":
                self.asks[kind] += max(0, tables_for(held + more) - self.tables)
        elif kind == "anon":
            out = min(self.swap, -more)
            self.swap -= out
            self.anon -= -more - out
            self.tables = min(self.tables, tables_for(self.anon + self.swap))
        elif kind == "file":
            self.file += more
            self.cold = min(self.cold, self.file)
        else:
            self.kernel += more

    def charge(self, pages: int) -> None:
        """Give it pages: of what it asks for first, else anonymous ones."""
        for kind in ("kernel", "file", "anon"):
            some = min(pages, self.asks.get(kind, 0))
            if some:
                self._add(kind, some)
                self.asks[kind] -= some
                if not self.asks[kind]:
                    del self.asks[kind]
                pages -= some
        self._add_anon(pages)

    def _add_anon(self, charged: int) -> None:
        """Take so many pages, of which some are for tables."""
        pages = pages_within(charged, self.anon + self.swap, self.tables)
        self.anon += pages
        self.tables += charged - pages

    def _add(self, kind: str, pages: int) -> None:
        if kind == "anon":
            self._add_anon(pages)
        elif kind == "kernel":
            self.kernel += pages
        else:
            self.file += pages
            self.cold += int(pages * self.share)

    @property
    def use(self) -> MemoryUse:
        """What it holds, in bytes."""
        return MemoryUse(
            anon=self.anon * PAGE_SIZE,
            file=self.file * PAGE_SIZE,
            tables=self.tables * PAGE_SIZE,
            slab=self.kernel * PAGE_SIZE,
            swap=self.swap * PAGE_SIZE,
            cold=self.cold * PAGE_SIZE,
        )


def _states(phase: Phase, kind: str) -> bool:
    """True if a phase says how much of a kind there is to be."""
    if kind == "anon":
        return phase.memory is not None and phase.memory.start is not None
    return (phase.kernel if kind == "kernel" else phase.file) is not None
