"""CFS bandwidth: quota, period and burst of a group, and the limits its ancestors set (kernel/sched/core.c, fair.c)."""

from __future__ import annotations

from errno import EINVAL

from ...core.cftype import CFType, Where
from ...parse import scan_decimal, scan_word
from ...refuse import refuse
from .css import RUNTIME_INF, USEC, Cpu

_MIN_NS = 1_000_000  # of a quota and of a period
_MAX_PERIOD_NS = 1_000_000_000
_MAX_RUNTIME_NS = ((1 << 44) - 1) * USEC
_BW_SHIFT = 20
_U64 = 1 << 64


def nanoseconds(microseconds: int) -> int:
    """Convert µs to ns. Raises EINVAL if the product does not fit 64 bits."""
    if microseconds > (_U64 - 1) // USEC:
        raise refuse(EINVAL)
    return microseconds * USEC


def ratio(quota: int, period: int) -> int | None:
    """CPU time per period as a fixed point number, None if unlimited; arguments in ns (to_ratio of µs)."""
    if quota == RUNTIME_INF:
        return None
    return (quota // USEC << _BW_SHIFT) // (period // USEC)


def set_bandwidth(css: Cpu, *, quota: int, period: int, burst: int) -> None:
    """Set all three, in ns. Raises EINVAL in the kernel's order of checks (tg_set_cfs_bandwidth)."""
    if css.parent is None:
        raise refuse(EINVAL)
    if quota < _MIN_NS or period < _MIN_NS:
        raise refuse(EINVAL)
    if period > _MAX_PERIOD_NS:
        raise refuse(EINVAL)
    if quota != RUNTIME_INF:
        if quota > _MAX_RUNTIME_NS:
            raise refuse(EINVAL)
        if burst > quota or burst + quota > _MAX_RUNTIME_NS:
            raise refuse(EINVAL)
    if not css.on_dfl:
        _check_schedulable(css, quota, period)
    css.quota, css.period, css.burst = quota, period, burst


def _check_schedulable(css: Cpu, quota: int, period: int) -> None:
    """Check, on v1, that no group has more than its nearest limited ancestor (tg_cfs_schedulable_down).

    The unified hierarchy does not check: there the tightest limit on the way up counts. Raises EINVAL.
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


def read_quota(css: Cpu) -> int:
    return -1 if css.quota == RUNTIME_INF else css.quota // USEC


def write_quota(css: Cpu, value: int) -> None:
    """Take µs per period, any negative number for no limit. Raises EINVAL below 1 ms or over the parent's."""
    quota = RUNTIME_INF if value < 0 else nanoseconds(value)
    set_bandwidth(css, quota=quota, period=css.period, burst=css.burst)


def read_period(css: Cpu) -> int:
    return css.period // USEC


def write_period(css: Cpu, value: int) -> None:
    """Take µs, 1 ms to 1 s. Raises EINVAL for anything else."""
    set_bandwidth(css, quota=css.quota, period=nanoseconds(value), burst=css.burst)


def read_burst(css: Cpu) -> int:
    return css.burst // USEC


def write_burst(css: Cpu, value: int) -> None:
    """Take µs, up to the quota. Raises EINVAL for more."""
    set_bandwidth(css, quota=css.quota, period=css.period, burst=nanoseconds(value))


def show_max(css: Cpu) -> str:
    quota = "max" if css.quota == RUNTIME_INF else css.quota // USEC
    return f"{quota} {css.period // USEC}\n"


def write_max(css: Cpu, text: str) -> None:
    """Take `QUOTA|max [PERIOD]` in µs, read like sscanf("%20s %llu") (cpu_max_write). Raises EINVAL."""
    token, rest = scan_word(text, 20)
    if token is None:
        raise refuse(EINVAL)
    saturate = css.kernel.saturates
    period = scan_decimal(rest, saturate=saturate)[0]
    quota = scan_decimal(token, saturate=saturate)[0]
    if quota is None and token != "max":
        raise refuse(EINVAL)
    if css.kernel.at_least(6, 17) and quota == RUNTIME_INF:
        quota = None  # the greatest number of µs means no limit
    set_bandwidth(
        css,
        quota=RUNTIME_INF if quota is None else quota * USEC % _U64,
        period=css.period if period is None else period * USEC % _U64,
        burst=css.burst,
    )


DFL = (
    CFType("cpu.max", Where.CHILD, show=show_max, write=write_max),
    CFType("cpu.max.burst", Where.CHILD, since=(6, 1), read_u64=read_burst, write_u64=write_burst),
)
LEGACY = (
    CFType("cpu.cfs_quota_us", read_s64=read_quota, write_s64=write_quota),
    CFType("cpu.cfs_period_us", read_u64=read_period, write_u64=write_period),
    CFType("cpu.cfs_burst_us", since=(6, 1), read_u64=read_burst, write_u64=write_burst),
)
