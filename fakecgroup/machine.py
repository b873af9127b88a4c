"""The machine that the fake kernel runs on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """CPUs, NUMA nodes (both counted from 0, all online), memory in bytes, whole disks as "major:minor"."""

    cpus: int = 4
    numa_nodes: int = 1
    memory: int = 8 << 30
    block_devices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("cpus", "numa_nodes", "memory"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for device in self.block_devices:
            major, _, minor = device.partition(":")
            if not (major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
                raise ValueError(f"a block device is named by its numbers, such as 259:0, not {device!r}")
