"""Whom the OOM killer takes (mm/oom_kill.c, mm/memcontrol.c)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

IMMUNE = -1000  # OOM_SCORE_ADJ_MIN

_T = TypeVar("_T")


def badness(*, rss: int, swap: int = 0, tables: int = 0, adj: int = 0, limit: int) -> int | None:
    """The points of a process (oom_badness); None for one that is never killed.

    Its resident memory, what it has in swap and its page tables are pages. So is `limit`: what the cgroup that is out
    of memory may have, or the machine's memory and swap. `adj` is its oom_score_adj. Points may be negative.
    """
    if adj == IMMUNE:
        return None
    return rss + swap + tables + adj * (limit // 1000)


def choose(candidates: Iterable[tuple[_T, int | None]]) -> _T | None:
    """The one with the most points; of equal ones the last (oom_evaluate_task). None if all are immune.

    They come in the order in which the kernel looks at them: cgroups before those below, each with its processes as
    cgroup.procs lists them (mem_cgroup_scan_tasks).
    """
    chosen, most = None, None
    for candidate, points in candidates:
        if points is not None and (most is None or points >= most):
            chosen, most = candidate, points
    return chosen
