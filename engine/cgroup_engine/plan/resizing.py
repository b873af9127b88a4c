"""Pods that a kubelet is resizing: their cgroups may have the values from before, or those from after.

The one who would write them is the kubelet, and it does so when it can: memory before CPU, and a memory limit not below
the memory in use (doPodResizeAction of ``pkg/kubelet/kuberuntime/kuberuntime_manager.go``). So what is found of either
stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field, WantedCgroup
from cgroup_engine.plan.write import same_setting
from cgroup_engine.tree.found import FoundCgroup, FoundTree
from cgroup_engine.tree.knobs import knobs_of

# what a resize changes: the limits of each knob
_LIMITS: dict[Field, tuple[str, ...]] = {
    "shares": ("shares", "weight"),
    "quota": ("quota_us", "period_us"),
    "memory": ("memory",),
    "memory_and_swap": ("memory", "swap"),
    "memory_min": ("memory_min",),
    "memory_low": ("memory_low",),
    "memory_high": ("memory_high",),
    "swap": ("swap",),
}


def as_resized(wanted: Sequence[WantedCgroup], found: FoundTree) -> tuple[WantedCgroup, ...]:
    """The wanted cgroups, those of pods that are resized with each of their other values that is there already.

    :raises RootError: something there cannot be read.
    """
    return tuple(cgroup if cgroup.also is None else _as_found(cgroup, cgroup.also, found) for cgroup in wanted)


def _as_found(cgroup: WantedCgroup, also: CgroupLimits, found: FoundTree) -> WantedCgroup:
    there = found.get(cgroup.path)
    taken = {} if there is None else dict(_taken(cgroup.limits, also, there, found))
    return replace(cgroup, limits=replace(cgroup.limits, **taken), also=None)


def _taken(limits: CgroupLimits, also: CgroupLimits, there: FoundCgroup, found: FoundTree) -> Iterator[tuple[str, Any]]:
    for knob in (knob for knob in knobs_of(found.layout, limits) if knob.field in _LIMITS):
        other, have = knob.setting(also), there.setting(knob)
        if other is not None and have is not None and same_setting(knob, have, other):
            yield from ((name, getattr(also, name)) for name in _LIMITS[knob.field])
