"""The CPU time of each container if every container is busy and nothing else runs.

From kubepods down, siblings share CPU in proportion to their weight. If its own quota, or those of its descendants,
keep a cgroup from using its part, its siblings share the rest (weighted max-min fairness). The kernel's fair scheduler
and CFS bandwidth control approach this over many periods, if containers have enough threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import WantedCgroup

_SHARING = ("node", "qos", "pod", "container")


def cores_under_load(
    wanted: Sequence[WantedCgroup], cpus: int, weight: Callable[[CgroupLimits], int] = lambda limits: limits.shares or 1
) -> Mapping[str, float]:
    """Path of a cgroup -> CPUs that it gets, on a node with ``cpus``; ``weight``: v1's shares by default."""
    sharing = [cgroup for cgroup in wanted if cgroup.level in _SHARING]
    paths = {cgroup.path for cgroup in sharing}
    children: dict[str, list[WantedCgroup]] = {}
    for cgroup in sharing:
        children.setdefault(cgroup.parent if cgroup.parent in paths else "", []).append(cgroup)

    usable: dict[str, float] = {}
    for cgroup in reversed(sharing):
        own = _quota_cores(cgroup.limits)
        below = [usable[child.path] for child in children.get(cgroup.path, [])]
        usable[cgroup.path] = own if cgroup.level == "container" else min(own, math.fsum(below))

    cores: dict[str, float] = {}
    shared = [(float(cpus), children.get("", []))]
    for amount, siblings in shared:
        parts = fair_parts(amount, [(weight(cgroup.limits), usable[cgroup.path]) for cgroup in siblings])
        for cgroup, part in zip(siblings, parts, strict=True):
            cores[cgroup.path] = part
            if cgroup.path in children:
                shared.append((part, children[cgroup.path]))
    return cores


def fair_parts(amount: float, takers: Sequence[tuple[int, float]]) -> list[float]:
    """Splits an amount among takers (weight, most they can use) by weight; the others share what one cannot use."""
    parts = [0.0] * len(takers)
    waiting = [n for n, (_, most) in enumerate(takers) if most > 0]
    while waiting:
        total = sum(takers[n][0] for n in waiting)
        full = [n for n in waiting if takers[n][1] <= amount * takers[n][0] / total]
        if not full:
            for n in waiting:
                parts[n] = amount * takers[n][0] / total
            break
        for n in full:
            parts[n] = takers[n][1]
        amount -= math.fsum(takers[n][1] for n in full)
        waiting = sorted(set(waiting) - set(full))
    return parts


def _quota_cores(limits: CgroupLimits) -> float:
    if limits.quota_us is None or limits.quota_us < 0:
        return math.inf
    return limits.quota_us / (limits.period_us or 1)
