"""The machine that the fake kernel runs on."""

from __future__ import annotations

from dataclasses import dataclass

HUGE_PAGES = (2 << 20, 1 << 30)  # bytes; those of x86-64
KNOWN_HUGE_PAGES = (*HUGE_PAGES, 32 << 20, 64 << 10)  # and arm64's


@dataclass(frozen=True, slots=True)
class Machine:
    """CPUs, NUMA nodes (both counted from 0, all online), memory and swap in bytes, whole disks as "major:minor",
    and the sizes of huge pages in bytes (how many there are shows in no file).

    Swap decides which limits a kernel takes below the memory in use, whom it kills, and what memory.reclaim answers: no
    fake cgroup has memory in use that could be swapped out. The files and their values are the same without swap.
    """

    cpus: int = 4
    numa_nodes: int = 1
    memory: int = 8 << 30
    block_devices: tuple[str, ...] = ()
    huge_pages: frozenset[int] = frozenset(HUGE_PAGES)
    swap: int = 0

    def __post_init__(self) -> None:
        for name in ("cpus", "numa_nodes", "memory"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.swap < 0:
            raise ValueError(f"swap must be at least 0, got {self.swap}")
        for device in self.block_devices:
            major, _, minor = device.partition(":")
            if not (major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
                raise ValueError(f"a block device is named by its numbers, such as 259:0, not {device!r}")
        for size in self.huge_pages:
            if size not in KNOWN_HUGE_PAGES:
                raise ValueError(f"there are no huge pages of {size} bytes: 64 KiB, 2 MiB, 32 MiB and 1 GiB are known")
