"""The interface files the engine sets, of cgroup v1 and v2: what to write for a limit, and how to read it back.

A knob is one thing that is set: CPU shares, the CPU quota with its period, the memory limit, the pids limit, the limit
of one size of huge pages. Its *setting* is a tuple with the text of each of its files, in the form in which the kernel
shows it.

What the kernel may show other than what was written (kernel/sched/core.c, mm/memcontrol.c, mm/hugetlb_cgroup.c,
kernel/cgroup/pids.c):

* v1 ``cpu.shares`` is bounded to 2..262144; v1 ``cpu.cfs_quota_us`` shows every negative number as -1;
* memory is rounded down to a page, and nearly 2^63 is "no limit": 9223372036854771712 on v1 (with pages of 4 KiB),
  ``max`` on v2;
* huge pages are rounded down to one of them, and shown as ``max`` on v2 and up to 2^63 on v1 when there is no limit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cgroup_engine.kubelet.cpu_weight import linear
from cgroup_engine.model.cpu_list import parse_cpu_list
from cgroup_engine.model.hugepages import UNLIMITED, kernel_name, resource_of_page_size
from cgroup_engine.model.limits import DEFAULT_PERIOD_US, CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.layout import Controller, Layout

Setting = tuple[str, ...]
_PAGE_SIZES = (4096, 16384, 65536)  # of the kernels that there are
_V1_NO_LIMIT = (1 << 63) - 65536  # what any page size makes of 2^63-1, or less
_MAX_QUOTA_US = (1 << 44) - 1  # the kernel refuses more


class Knob(Protocol):
    """One thing that is set in a cgroup; ``files`` are its interface files, in the order of a setting."""

    @property
    def field(self) -> Field: ...

    @property
    def controller(self) -> Controller: ...

    @property
    def files(self) -> tuple[str, ...]: ...

    @property
    def default(self) -> Setting:
        """The setting of a new cgroup."""

    def given(self, limits: CgroupLimits) -> bool:
        """Do the limits say anything of this?"""

    def setting(self, limits: CgroupLimits) -> Setting | None:
        """What a cgroup with these limits has in the files; None if the limits do not say."""

    def same(self, wanted: str, found: str, file: str) -> bool:
        """Is what a file shows what was wanted, allowing for the kernel's rounding?"""

    def size(self, setting: Setting) -> float:
        """How much a setting allows, for comparing two; equal for all if there is no order between cgroups."""

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        """(file, text) to get from one setting to the other, every state between legal for parent and children."""

    def unit(self) -> str:
        """What the number is, for people."""


def knobs_of(layout: Layout, limits: CgroupLimits) -> tuple[Knob, ...]:
    """The knobs by which limits are set, as far as the layout has their controllers."""
    return tuple(knob for knob in knobs_for(layout.version, limits, layout.swap) if knob.controller in layout.tree_of)


def knobs_for(version: Literal[1, 2], limits: CgroupLimits, swap: bool = True) -> tuple[Knob, ...]:
    """As ``knobs_of``, for every controller; ``swap``: does the kernel account for it?"""
    knobs = KNOBS[version] + tuple(hugetlb_knob(version, size) for size in limits.hugepages)
    if CPUS.given(limits):
        knobs += (CPUS,)
    if version == 1 and swap and limits.swap is not None:
        return tuple(MEMORY_AND_SWAP if knob.field == "memory" else knob for knob in knobs)
    return knobs if swap else tuple(knob for knob in knobs if knob.field != "swap")


def _changed(files: Sequence[str], old: Setting, new: Setting) -> list[tuple[str, str]]:
    return [(file, text) for file, before, text in zip(files, old, new, strict=True) if before != text]


class _Plain:
    """What most knobs are: files show what was written, no setting is above another, each file is written alone."""

    files: tuple[str, ...]

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted == found

    def size(self, setting: Setting) -> float:
        return 0

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        return _changed(self.files, old, new)


@dataclass(frozen=True)
class _V1Shares(_Plain):
    field: Field = "shares"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cpu.shares",)
    default: Setting = ("1024",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.shares is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return None if limits.shares is None else (str(limits.shares),)

    def unit(self) -> str:
        return "shares"


@dataclass(frozen=True)
class _V2Weight(_V1Shares):
    files: tuple[str, ...] = ("cpu.weight",)
    default: Setting = ("100",)

    def setting(self, limits: CgroupLimits) -> Setting | None:
        if limits.weight is not None:
            return (str(limits.weight),)
        return None if limits.shares is None else (str(linear(limits.shares)),)

    def unit(self) -> str:
        return "weight"


@dataclass(frozen=True)
class _V1Quota(_Plain):
    """cpu.cfs_quota_us and cpu.cfs_period_us; -1 is no quota.

    The kernel refuses a quota/period of a cgroup over that of its nearest limited ancestor, and below that of a
    limited descendant (tg_cfs_schedulable_down), after each of the two writes.
    """

    field: Field = "quota"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    default: Setting = ("-1", str(DEFAULT_PERIOD_US))

    def given(self, limits: CgroupLimits) -> bool:
        return limits.quota_us is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        quota = -1 if limits.quota_us is None else limits.quota_us
        return str(quota), str(limits.period_us or DEFAULT_PERIOD_US)

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted == found or (file == self.files[0] and wanted.startswith("-") and found.startswith("-"))

    def size(self, setting: Setting) -> float:
        quota, period = int(setting[0]), int(setting[1])
        # the kernel compares floor(quota << 20 / period) in integers
        return math.inf if quota < 0 else (quota << 20) // period

    def writes(self, old: Setting, new: Setting, below: float = math.inf, above: float = 0.0) -> list[tuple[str, str]]:
        """As ``Knob.writes``; ``below``: the greatest size of a descendant, ``above``: that of the nearest limited
        ancestor, if they are known.

        Where the period and the quota change, the quota that is there while the period changes is the one with which
        the size leaves the range of both least: the old, the new, one that has the size of one of them in the period
        of the other, or none, which is legal everywhere and is what is above.
        """
        quota_file, period_file = self.files
        (old_quota, old_period), (quota, period) = old, new
        if old_period == period or old_quota == quota:
            return _changed(self.files, old, new)
        if int(quota) < 0:
            return [(quota_file, quota), (period_file, period)]
        if int(old_quota) < 0:
            return [(period_file, period), (quota_file, quota)]
        low, high = sorted((self.size(old), self.size(new)))

        def strays(passing: str) -> float:
            """By what factor it leaves the range; infinite where the kernel refuses it."""
            sizes = [self.size((passing, each)) for each in (old_period, period)]
            if passing == "-1":
                return max(1.0, above / high) if above else sys.float_info.max
            if min(sizes) < min(low, below) or max(sizes) > max(high, above):
                return math.inf
            return max(1.0, max(sizes) / high, low / min(sizes))

        candidates = ["-1", old_quota, quota]
        for number, here, there in ((quota, period, old_period), (old_quota, old_period, period)):
            exact = int(number) * int(there)
            candidates += [str(exact // int(here)), str(-(-exact // int(here)))]
        least = min(int(old_quota), int(quota))  # what both are not below, a burst is not over
        usable = [each for each in candidates if each == "-1" or least <= int(each) <= _MAX_QUOTA_US]

        passing = min(usable, key=lambda each: (strays(each), each not in (old_quota, quota), each == "-1"))
        first = [(quota_file, passing)] if passing != old_quota else []
        last = [(quota_file, quota)] if passing != quota else []
        return [*first, (period_file, period), *last]

    def unit(self) -> str:
        return "µs"


V1_QUOTA = _V1Quota()


@dataclass(frozen=True)
class _V2Max(_Plain):
    """cpu.max, "QUOTA PERIOD" in µs; both are set in one write and the kernel compares nothing with the parent."""

    field: Field = "quota"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cpu.max",)
    default: Setting = (f"max {DEFAULT_PERIOD_US}",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.quota_us is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        quota = "max" if limits.quota_us is None or limits.quota_us < 0 else limits.quota_us
        return (f"{quota} {limits.period_us or DEFAULT_PERIOD_US}",)

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted.split() == found.split()

    def size(self, setting: Setting) -> float:
        quota, period = setting[0].split()
        return math.inf if quota == "max" else (int(quota) << 20) // int(period)

    def unit(self) -> str:
        return "µs per µs"


@dataclass(frozen=True)
class _V1Memory(_Plain):
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
        return math.inf if number < 0 or number >= _V1_NO_LIMIT else number

    def unit(self) -> str:
        return "bytes"


_V1_MEMORY = _V1Memory()


@dataclass(frozen=True)
class _V1MemoryAndSwap(_V1Memory):
    """memory.limit_in_bytes with memory.memsw.limit_in_bytes, which counts memory and swap together.

    The kernel refuses what would make the second less than the first (mem_cgroup_resize_max). Kubelets never give
    swap on v1, so both are the same.
    """

    field: Field = "memory_and_swap"
    files: tuple[str, ...] = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    default: Setting = ("-1", "-1")

    def setting(self, limits: CgroupLimits) -> Setting | None:
        memory = "-1" if limits.memory is None else str(limits.memory)
        return memory, memory

    def size(self, setting: Setting) -> float:
        return min(_V1_MEMORY.size((text,)) for text in setting)

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        changed = _changed(self.files, old, new)
        room = _V1_MEMORY.size(new[1:]) >= _V1_MEMORY.size(old[:1])
        return list(reversed(changed)) if room else changed


MEMORY_AND_SWAP = _V1MemoryAndSwap()


@dataclass(frozen=True)
class _V2Memory(_V1Memory):
    files: tuple[str, ...] = ("memory.max",)
    default: Setting = ("max",)

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return ("max",) if limits.memory is None or limits.memory < 0 else (str(limits.memory),)

    def size(self, setting: Setting) -> float:
        return math.inf if setting[0] == "max" else super().size(setting)


@dataclass(frozen=True)
class _V2Bytes(_V2Memory):
    """memory.min, memory.low, memory.high, memory.swap.max: bytes of the limit of the same name."""

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


@dataclass(frozen=True)
class _V2OomGroup(_Plain):
    """memory.oom.group, 0 or 1: does the OOM killer take all processes of the cgroup together?"""

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


@dataclass(frozen=True)
class _Hugetlb(_Plain):
    """The limit of one size of huge pages, and the same of what may be reserved of them (since kernel 5.7).

    libcontainer writes both since runc 1.1.10 (October 2023). Kubelets before that, the older ones of this range, left
    the second as it is; here it is always written.
    """

    field: Field
    page: int  # bytes
    files: tuple[str, ...]
    default: Setting
    controller: Controller = "hugetlb"

    def given(self, limits: CgroupLimits) -> bool:
        return self.page in limits.hugepages

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return (str(limits.hugepages[self.page]),) * len(self.files) if self.given(limits) else None

    def same(self, wanted: str, found: str, file: str) -> bool:
        return self._pages(wanted) == self._pages(found)

    def _pages(self, text: str) -> float:
        number = _V1_NO_LIMIT if text == "max" else int(text)
        return math.inf if number >= UNLIMITED // 2 else number // self.page

    def size(self, setting: Setting) -> float:
        return self._pages(setting[0])

    def unit(self) -> str:
        return "bytes"


def hugetlb_knob(version: Literal[1, 2], page: int) -> Knob:
    """The knob of the pages of so many bytes."""
    end, default = ("limit_in_bytes", str(_V1_NO_LIMIT)) if version == 1 else ("max", "max")
    files = tuple(f"hugetlb.{kernel_name(page)}.{kind}{end}" for kind in ("", "rsvd."))
    return _Hugetlb(resource_of_page_size(page), page, files, (default,) * len(files))


@dataclass(frozen=True)
class _Pids(_Plain):
    field: Field = "pids"
    controller: Controller = "pids"
    files: tuple[str, ...] = ("pids.max",)
    default: Setting = ("max",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.pids is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return ("max",) if limits.pids is None or limits.pids < 0 else (str(limits.pids),)

    def size(self, setting: Setting) -> float:
        return math.inf if setting[0] == "max" else int(setting[0])

    def unit(self) -> str:
        return "tasks"


@dataclass(frozen=True)
class _Cpus(_Plain):
    """cpuset.cpus, a list of CPUs. On v2 an empty one is the parent's; on v1 no task can enter then."""

    field: Field = "cpus"
    controller: Controller = "cpuset"
    files: tuple[str, ...] = ("cpuset.cpus",)
    default: Setting = (" ",)  # the kernel takes a space for an empty list, and a write of nothing for no write

    def given(self, limits: CgroupLimits) -> bool:
        return limits.cpus is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return None if limits.cpus is None else (limits.cpus,)

    def same(self, wanted: str, found: str, file: str) -> bool:
        return parse_cpu_list(wanted.strip()) == parse_cpu_list(found.strip())

    def unit(self) -> str:
        return "CPUs"


CPUS = _Cpus()
MEMS = _Cpus("mems", files=("cpuset.mems",))  # NUMA nodes; written only where v1 wants it filled

KNOBS: dict[int, tuple[Knob, ...]] = {
    1: (_V1Shares(), V1_QUOTA, _V1_MEMORY, _Pids()),
    2: (
        _V2Weight(),
        _V2Max(),
        _V2Memory(),
        _Pids(),
        _V2Bytes("memory_min", files=("memory.min",), default=("0",)),
        _V2Bytes("memory_low", files=("memory.low",), default=("0",)),
        _V2Bytes("memory_high", files=("memory.high",)),
        _V2Bytes("swap", files=("memory.swap.max",)),
        _V2OomGroup(),
    ),
}
