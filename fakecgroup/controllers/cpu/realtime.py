"""Real-time bandwidth of a group, on v1 with RT_GROUP_SCHED (kernel/sched/rt.c)."""

from __future__ import annotations

from errno import EINVAL

from ...core.cftype import CFType
from ...refuse import refuse
from .bandwidth import nanoseconds
from .css import RT_PERIOD_DEFAULT, RUNTIME_INF, USEC, Cpu

_GLOBAL_RUNTIME = 950_000 * USEC  # ns per second, of the whole machine: kernel.sched_rt_runtime_us
_MAX_RUNTIME = (1 << 44) - 1  # ns
_BW_SHIFT = 20
_U64 = 1 << 64


def _ratio(period: int, runtime: int) -> int:
    """The runtime's part of the period as a fixed point number, both in ns (to_ratio)."""
    return 1 << _BW_SHIFT if runtime == RUNTIME_INF else (runtime << _BW_SHIFT) % _U64 // period


def _set_bandwidth(css: Cpu, period: int, runtime: int) -> None:
    """Set both, in ns. Raises EINVAL (tg_set_rt_bandwidth, then tg_rt_schedulable for the group and its parent)."""
    if period == 0 or (css.parent is None and runtime == 0):
        raise refuse(EINVAL)
    if runtime != RUNTIME_INF and runtime > _MAX_RUNTIME:
        raise refuse(EINVAL)
    if period < runtime != RUNTIME_INF:
        raise refuse(EINVAL)
    mine = _ratio(period, runtime)
    if mine > _ratio(RT_PERIOD_DEFAULT, _GLOBAL_RUNTIME) or sum(map(_ratio_of, css.children())) > mine:
        raise refuse(EINVAL)
    parent = next(css.ancestors(), None)
    if parent is not None:
        siblings = sum(_ratio_of(child) for child in parent.children() if child is not css)
        if mine + siblings > _ratio_of(parent):
            raise refuse(EINVAL)
    css.rt_period, css.rt_runtime = period, runtime


def _ratio_of(css: Cpu) -> int:
    return _ratio(css.rt_period, _runtime(css))


def _runtime(css: Cpu) -> int:
    """The runtime in ns. Before the first write the root has the whole machine's, any other group 0."""
    if css.rt_runtime is None:
        return _GLOBAL_RUNTIME if css.parent is None else 0
    return css.rt_runtime


def read_runtime(css: Cpu) -> int:
    runtime = _runtime(css)
    return -1 if runtime == RUNTIME_INF else runtime // USEC


def write_runtime(css: Cpu, value: int) -> None:
    """Take µs, any negative number for no limit. Raises EINVAL for more than parent, siblings and children leave."""
    _set_bandwidth(css, css.rt_period, RUNTIME_INF if value < 0 else nanoseconds(value))


def read_period(css: Cpu) -> int:
    return css.rt_period // USEC


def write_period(css: Cpu, value: int) -> None:
    """Take µs. Raises EINVAL for 0, and as `write_runtime` does."""
    _set_bandwidth(css, nanoseconds(value), _runtime(css))


LEGACY = (
    CFType("cpu.rt_runtime_us", config="RT_GROUP_SCHED", read_s64=read_runtime, write_s64=write_runtime),
    CFType("cpu.rt_period_us", config="RT_GROUP_SCHED", read_u64=read_period, write_u64=write_period),
)
