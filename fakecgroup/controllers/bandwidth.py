"""CFS bandwidth: quota, period and burst of a group, and what the tree allows (kernel/sched/core.c, fair.c)."""

from __future__ import annotations

from errno import EINVAL
from typing import TYPE_CHECKING

from ..refuse import refuse

if TYPE_CHECKING:
    from .cpu import Cpu

USEC = 1000  # ns
UNLIMITED = (1 << 64) - 1  # RUNTIME_INF, ns
MIN_NS = 1_000_000  # of a quota and of a period
MAX_PERIOD_NS = 1_000_000_000
MAX_RUNTIME_NS = ((1 << 44) - 1) * USEC
_BW_SHIFT = 20


def ratio(quota: int, period: int) -> int | None:
    """CPU time per period as a fixed point number, None if unlimited; arguments in ns (to_ratio of µs)."""
    if quota == UNLIMITED:
        return None
    return (quota // USEC << _BW_SHIFT) // (period // USEC)


def set_bandwidth(css: Cpu, *, quota: int, period: int, burst: int) -> None:
    """Sets all three, in ns; raises EINVAL in the kernel's order of checks (tg_set_cfs_bandwidth)."""
    if css.parent is None:
        raise refuse(EINVAL)
    if quota < MIN_NS or period < MIN_NS:
        raise refuse(EINVAL)
    if period > MAX_PERIOD_NS:
        raise refuse(EINVAL)
    if quota != UNLIMITED:
        if quota > MAX_RUNTIME_NS:
            raise refuse(EINVAL)
        if burst > quota or burst + quota > MAX_RUNTIME_NS:
            raise refuse(EINVAL)
    if not css.on_dfl:
        _check_schedulable(css, quota, period)
    css.quota, css.period, css.burst = quota, period, burst


def _check_schedulable(css: Cpu, quota: int, period: int) -> None:
    """v1 only: no group may have more than its nearest limited ancestor (tg_cfs_schedulable_down).

    The unified hierarchy takes the least on the way instead.
    """
    changed = {id(css): ratio(quota, period)}

    def own(member: Cpu) -> int | None:
        return changed.get(id(member), ratio(member.quota, member.period))

    inherited: int | None = None
    for ancestor in reversed(list(css.ancestors())):
        above = own(ancestor)
        inherited = inherited if above is None else above
    stack = [(css, inherited)]
    while stack:
        member, above = stack.pop()
        limit = own(member)
        if limit is None:
            limit = above
        elif above is not None and limit > above:
            raise refuse(EINVAL)
        stack.extend((child, limit) for child in member.children())
