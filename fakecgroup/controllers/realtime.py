"""Real-time bandwidth of a group, on v1 with RT_GROUP_SCHED (kernel/sched/rt.c)."""

from __future__ import annotations

from errno import EINVAL
from typing import TYPE_CHECKING

from ..cftype import CFType
from ..refuse import refuse

if TYPE_CHECKING:
    from .cpu import Cpu

USEC = 1000  # ns
PERIOD = 1_000_000 * USEC
ROOT_RUNTIME = 950_000 * USEC  # kernel.sched_rt_runtime_us
UNLIMITED = (1 << 64) - 1  # RUNTIME_INF
MAX_RUNTIME = (1 << 44) - 1
_U64 = 1 << 64
_SHIFT = 20


def _ratio(period: int, runtime: int) -> int:
    """to_ratio: the runtime as a fixed point part of the period, both in ns."""
    return 1 << _SHIFT if runtime == UNLIMITED else (runtime << _SHIFT) % _U64 // period


def _set(css: Cpu, period: int, runtime: int) -> None:
    """In ns. Raises EINVAL (tg_set_rt_bandwidth, then tg_rt_schedulable for the group and its parent)."""
    if period == 0 or (css.parent is None and runtime == 0):
        raise refuse(EINVAL)
    if runtime != UNLIMITED and runtime > MAX_RUNTIME:
        raise refuse(EINVAL)
    if period < runtime != UNLIMITED:
        raise refuse(EINVAL)
    mine = _ratio(period, runtime)
    if mine > _ratio(PERIOD, ROOT_RUNTIME) or sum(map(_of, css.children())) > mine:
        raise refuse(EINVAL)
    parent = next(css.ancestors(), None)
    if parent is not None and mine + sum(_of(child) for child in parent.children() if child is not css) > _of(parent):
        raise refuse(EINVAL)
    css.rt_period, css.rt_runtime = period, runtime


def _of(css: Cpu) -> int:
    return _ratio(css.rt_period, read_runtime_ns(css))


def read_runtime_ns(css: Cpu) -> int:
    """The root starts with what the whole machine may use, another group with nothing."""
    if css.rt_runtime is None:
        return ROOT_RUNTIME if css.parent is None else 0
    return css.rt_runtime


def read_runtime(css: Cpu) -> int:
    runtime = read_runtime_ns(css)
    return -1 if runtime == UNLIMITED else runtime // USEC


def write_runtime(css: Cpu, value: int) -> None:
    """µs per period, any negative for no limit; EINVAL beyond what parent, siblings and children leave."""
    if value > (_U64 - 1) // USEC:
        raise refuse(EINVAL)
    _set(css, css.rt_period, UNLIMITED if value < 0 else value * USEC)


def read_period(css: Cpu) -> int:
    return css.rt_period // USEC


def write_period(css: Cpu, value: int) -> None:
    """µs; EINVAL for 0, and as `write_runtime`."""
    if value > (_U64 - 1) // USEC:
        raise refuse(EINVAL)
    _set(css, value * USEC, read_runtime_ns(css))


FILES = (
    CFType("cpu.rt_runtime_us", config="RT_GROUP_SCHED", read_s64=read_runtime, write_s64=write_runtime),
    CFType("cpu.rt_period_us", config="RT_GROUP_SCHED", read_u64=read_period, write_u64=write_period),
)
