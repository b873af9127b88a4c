"""The machine that the fake kernel runs on."""

from __future__ import annotations

from dataclasses import dataclass

HUGE_PAGES = (2 << 20, 1 << 30)  # bytes; those of x86-64
KNOWN_HUGE_PAGES = (*HUGE_PAGES, 32 << 20, 64 << 10)  # bytes; with those of arm64
NR_CPUS = 8192  # CONFIG_NR_CPUS of distributions
MAX_NUMNODES = 1024  # CONFIG_NODES_SHIFT=10


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware that files show: CPUs, NUMA nodes, memory, swap, disks, huge pages.

    CPUs and nodes are counted from 0 and all online. `memory` and `swap` are bytes. `block_devices` are whole disks as
    "major:minor". `huge_pages` are sizes in bytes; no file shows how many huge pages there are.

    Swap decides which limits below the memory in use a kernel takes, which process it kills, and the answer of
    memory.reclaim. Files and their values are the same with and without swap.
    """

    cpus: int
    numa_nodes: int
    memory: int
    block_devices: tuple[str, ...]
    huge_pages: frozenset[int]
    swap: int
