"""The knobs of cgroup v1 and v2."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.tree.knobs.cpu import V1_QUOTA, V1Shares, V2Quota, V2Weight
from cgroup_engine.tree.knobs.cpuset import CPUS, MEMS
from cgroup_engine.tree.knobs.hugetlb import hugetlb_knob
from cgroup_engine.tree.knobs.knob import Knob
from cgroup_engine.tree.knobs.memory import MEMORY_AND_SWAP, V1_MEMORY, V2Memory, V2MemoryBytes, V2OomGroup
from cgroup_engine.tree.knobs.pids import Pids
from cgroup_engine.tree.layout import Layout

KNOBS: dict[int, tuple[Knob, ...]] = {
    1: (V1Shares(), V1_QUOTA, V1_MEMORY, Pids()),
    2: (
        V2Weight(),
        V2Quota(),
        V2Memory(),
        Pids(),
        V2MemoryBytes("memory_min", "memory.min", "0"),
        V2MemoryBytes("memory_low", "memory.low", "0"),
        V2MemoryBytes("memory_high", "memory.high"),
        V2MemoryBytes("swap", "memory.swap.max"),
        V2OomGroup(),
    ),
}


def knobs_of(layout: Layout, limits: CgroupLimits) -> tuple[Knob, ...]:
    """The knobs for some limits whose controllers the layout has."""
    return tuple(
        knob for knob in knobs_for(layout.version, limits, layout.swap) if knob.controller in layout.hierarchy_of
    )


def knobs_for(version: Literal[1, 2], limits: CgroupLimits, swap: bool = True) -> tuple[Knob, ...]:
    """As ``knobs_of``, for every controller; ``swap``: does the kernel account for swap?"""
    given = tuple(knob for knob in (CPUS, MEMS) if knob.given(limits))
    return _knobs(version, tuple(limits.hugepages), limits.hugepage_reservations, given, swap, limits.swap is not None)


@lru_cache(maxsize=1 << 8)  # most cgroups have the same few
def _knobs(
    version: Literal[1, 2],
    pages: tuple[int, ...],
    reservations: bool,
    given: tuple[Knob, ...],
    swap: bool,
    swap_is_limited: bool,
) -> tuple[Knob, ...]:
    knobs = KNOBS[version] + tuple(hugetlb_knob(version, size, reservations=reservations) for size in pages) + given
    if version == 1 and swap and swap_is_limited:
        return tuple(MEMORY_AND_SWAP if knob.field == "memory" else knob for knob in knobs)
    return knobs if swap else tuple(knob for knob in knobs if knob.field != "swap")
