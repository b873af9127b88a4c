"""Limits and protection of memory, swap, and the OOM group.

The kernel (mm/memcontrol.c) rounds bytes down to a page. It shows nearly 2^63 as "no limit": 9223372036854771712 on v1
(with pages of 4 KiB), ``max`` on v2.
"""

from __future__ import annotations

import math

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.knobs.knob import PlainKnob, Setting, changed_files
from cgroup_engine.tree.layout import Controller

_PAGE_SIZES = (4096, 16384, 65536)  # of all architectures
V1_NO_LIMIT = (1 << 63) - 65536  # at or below 2^63-1 rounded down to a page of any size


class V1Memory(PlainKnob):
    field: Field = "memory"
    controller: Controller = "memory"
    files: tuple[str, ...] = ("memory.limit_in_bytes",)
    default: Setting = ("-1",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.memory is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return ("-1",) if limits.memory is None else (str(limits.memory),)

    def same(self, wanted: str, found: str, file: str) -> bool:
        want, have = self.size((wanted,)), self.size((found,))
        if math.isinf(want) or math.isinf(have):
            return want == have
        return any(int(want) - int(want) % page == have for page in _PAGE_SIZES) or want == have

    def size(self, setting: Setting) -> float:
        number = int(setting[0])
        return math.inf if number < 0 or number >= V1_NO_LIMIT else number

    def unit(self) -> str:
        return "bytes"


V1_MEMORY = V1Memory()


class V1MemoryAndSwap(V1Memory):
    """memory.limit_in_bytes with memory.memsw.limit_in_bytes, which counts memory and swap together.

    The kernel refuses a write that makes the second less than the first (mem_cgroup_resize_max). Kubelets never give
    swap on v1, so both are the same.
    """

    field: Field = "memory_and_swap"
    files: tuple[str, ...] = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    default: Setting = ("-1", "-1")

    def setting(self, limits: CgroupLimits) -> Setting | None:
        memory = "-1" if limits.memory is None else str(limits.memory)
        return memory, memory

    def size(self, setting: Setting) -> float:
        return min(V1_MEMORY.size((text,)) for text in setting)

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        changed = changed_files(self.files, old, new)
        room = V1_MEMORY.size(new[1:]) >= V1_MEMORY.size(old[:1])
        return list(reversed(changed)) if room else changed


MEMORY_AND_SWAP = V1MemoryAndSwap()


class V2Memory(V1Memory):
    files: tuple[str, ...] = ("memory.max",)
    default: Setting = ("max",)

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return ("max",) if limits.memory is None or limits.memory < 0 else (str(limits.memory),)

    def size(self, setting: Setting) -> float:
        return math.inf if setting[0] == "max" else super().size(setting)


class V2MemoryBytes(V2Memory):
    """memory.min, memory.low, memory.high, memory.swap.max: bytes of the limit of the same name."""

    def __init__(self, field: Field, file: str, default: str = "max") -> None:
        self.field, self.files, self.default = field, (file,), (default,)

    def _bytes(self, limits: CgroupLimits) -> int | None:
        return {
            "memory_min": limits.memory_min,
            "memory_low": limits.memory_low,
            "memory_high": limits.memory_high,
            "swap": limits.swap,
        }[self.field]

    def given(self, limits: CgroupLimits) -> bool:
        return self._bytes(limits) is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        number = self._bytes(limits)
        return self.default if number is None else (str(number),)


class V2OomGroup(PlainKnob):
    """memory.oom.group, 0 or 1: does the OOM killer kill all processes of the cgroup together?"""

    field: Field = "oom_group"
    controller: Controller = "memory"
    files: tuple[str, ...] = ("memory.oom.group",)
    default: Setting = ("0",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.oom_group is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return ("1",) if limits.oom_group else ("0",)

    def unit(self) -> str:
        return "flag"
