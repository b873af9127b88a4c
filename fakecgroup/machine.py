"""The machine that the fake kernel runs on."""

from __future__ import annotations

from dataclasses import dataclass

HUGE_PAGES = (2 << 20, 1 << 30)  # bytes; those of x86-64
KNOWN_HUGE_PAGES = (*HUGE_PAGES, 32 << 20, 64 << 10)  # and arm64's
NR_CPUS = 8192  # as many as distributions build kernels for (CONFIG_NR_CPUS)
MAX_NUMNODES = 1024  # CONFIG_NODES_SHIFT=10


@dataclass(frozen=True, slots=True)
class Machine:
    """CPUs, NUMA nodes (both counted from 0, all online), memory and swap in bytes, whole disks as "major:minor",
    and the sizes of huge pages in bytes (how many there are shows in no file).

    Swap decides which limits a kernel takes below the memory in use, whom it kills, and what memory.reclaim answers: no
    fake cgroup has memory in use that could be swapped out. The files and their values are the same without swap.
    """

    cpus: int
    numa_nodes: int
    memory: int
    block_devices: tuple[str, ...]
    huge_pages: frozenset[int]
    swap: int
