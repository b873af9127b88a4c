"""How many CPUs each container gets when every one of them wants all it can get and nothing else runs.

Going down from kubepods, CPU is shared among siblings in proportion to their weight; who cannot use its part, because
of its own quota or those below it, leaves the rest to its siblings (weighted max-min fairness). That is what the
kernel's fair scheduler and CFS bandwidth control tend to over many periods, for containers with enough threads.
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
    """Path of a cgroup -> CPUs, on a node with so many CPUs; ``weight``: what siblings compete by (v1's shares)."""
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

    def share(amount: float, siblings: Sequence[WantedCgroup]) -> None:
        parts = fair_parts(amount, [(weight(cgroup.limits), usable[cgroup.path]) for cgroup in siblings])
        for cgroup, part in zip(siblings, parts, strict=True):
            cores[cgroup.path] = part
            share(part, children.get(cgroup.path, []))

    share(float(cpus), children.get("", []))
    return cores


def fair_parts(amount: float, takers: Sequence[tuple[int, float]]) -> list[float]:
    """Splits an amount among (weight, most it can use) by weight; what one cannot use goes to the others."""
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
