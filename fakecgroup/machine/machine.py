"""The machine that the fake kernel runs on."""

from __future__ import annotations

from collections.abc import Mapping

from ..named_tuple import NamedTuple

HUGE_PAGES = (2 << 20, 1 << 30)  # bytes; those of x86-64
KNOWN_HUGE_PAGES = (*HUGE_PAGES, 32 << 20, 64 << 10)  # bytes; with those of arm64
NR_CPUS = 8192  # CONFIG_NR_CPUS of distributions
MAX_NUMNODES = 1024  # CONFIG_NODES_SHIFT=10


class HugePages(frozenset[int]):
    """Sizes of huge pages in bytes, with `counts` of how many there are of each."""

    counts: Mapping[int, int]

    def __new__(cls, counts: Mapping[int, int]) -> HugePages:
        made = super().__new__(cls, counts)
        made.counts = dict(counts)
        return made


class Machine(NamedTuple):
    """The hardware that files show: CPUs, NUMA nodes, memory, swap, disks, huge pages.

    CPUs and nodes are counted from 0 and all online. `memory` and `swap` are bytes. `block_devices` are whole disks as
    "major:minor". `huge_pages` are sizes in bytes; no file of the tree shows how many huge pages there
    are, which `huge_page_count` gives. `interfaces` are those of the network.

    Swap decides which limits below the memory in use a kernel takes, which process it kills, and the answer of
    memory.reclaim. Files and their values are the same with and without swap.
    """

    cpus: int
    numa_nodes: int
    memory: int
    block_devices: tuple[str, ...]
    huge_pages: frozenset[int]
    swap: int
    interfaces: tuple[str, ...] = ("lo",)

    def huge_page_count(self, size: int) -> int:
        """How many huge pages of this size in bytes there are."""
        return self.huge_pages.counts.get(size, 0) if isinstance(self.huge_pages, HugePages) else 0

    @property
    def huge_page_memory(self) -> int:
        """The bytes of all huge pages."""
        return sum(size * self.huge_page_count(size) for size in self.huge_pages)
