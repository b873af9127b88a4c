"""The cpu controller (kernel/sched/core.c, cpu_files and cpu_legacy_files).

One css serves both versions: shares, CFS bandwidth and the idle flag; weight and nice are faces of shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import EINVAL, ERANGE
from typing import TYPE_CHECKING

from ..cftype import CFType, Where
from ..cputime import adjusted, total
from ..css import Controller, Css
from ..parse import scan_decimal, scan_word
from ..refuse import refuse
from . import realtime
from . import weight as w
from .bandwidth import UNLIMITED, USEC, set_bandwidth
from .clamp import CLAMP_MAX, parse_percent, show_percent

if TYPE_CHECKING:
    from ..cgroup import Cgroup

_U64 = 1 << 64
_PERIOD_DEFAULT = 100_000 * USEC


class Cpu(Css):
    """`shares` (1024 is one CPU's worth by convention), `quota`, `period` and `burst` in ns, `idle`."""

    shares: int = w.SHARES_DEFAULT
    quota: int = UNLIMITED
    period: int = _PERIOD_DEFAULT
    burst: int = 0
    idle: bool = False
    rt_period: int = realtime.PERIOD  # ns
    rt_runtime: int | None = None  # ns; None: as it starts
    uclamp_min: int = 0  # hundredths of a percent
    uclamp_max: int = CLAMP_MAX

    def ancestors(self) -> Iterator[Cpu]:
        """From the parent up to the root."""
        css = self.parent
        while isinstance(css, Cpu):
            yield css
            css = css.parent

    def children(self) -> Iterator[Cpu]:
        for child in self.cgroup.children.values():
            css = child.csses.get("cpu")
            if isinstance(css, Cpu):
                yield css


# -- share of the CPU -----------------------------------------------------------------------------


def _set_shares(css: Cpu, shares: int) -> None:
    """Clamped to 2..262144; EINVAL in the root and in an idle group (sched_group_set_shares)."""
    if css.idle or css.parent is None:
        raise refuse(EINVAL)
    css.shares = min(max(shares, w.SHARES_MIN), w.SHARES_MAX)


def read_shares(css: Cpu) -> int:
    return css.shares


def write_shares(css: Cpu, value: int) -> None:
    _set_shares(css, value)


def read_weight(css: Cpu) -> int:
    weight = w.weight_from_shares(css.shares)
    return min(max(weight, w.WEIGHT_MIN), w.WEIGHT_MAX) if css.kernel.at_least(6, 12) else weight


def write_weight(css: Cpu, value: int) -> None:
    """1..10000, else ERANGE."""
    if not w.WEIGHT_MIN <= value <= w.WEIGHT_MAX:
        raise refuse(ERANGE)
    _set_shares(css, w.shares_from_weight(value))


def read_nice(css: Cpu) -> int:
    return w.nice_from_shares(css.shares)


def write_nice(css: Cpu, value: int) -> None:
    """-20..19, else ERANGE."""
    if not w.NICE_MIN <= value <= w.NICE_MAX:
        raise refuse(ERANGE)
    _set_shares(css, w.shares_from_nice(value))


def read_idle(css: Cpu) -> int:
    return int(css.idle)


def write_idle(css: Cpu, value: int) -> None:
    """0 or 1, else EINVAL; a change forgets the shares (sched_group_set_idle)."""
    if css.parent is None or value not in (0, 1):
        raise refuse(EINVAL)
    if css.idle == bool(value):
        return
    css.idle = bool(value)
    css.shares = w.SHARES_IDLE if css.idle else w.SHARES_DEFAULT


# -- bandwidth ------------------------------------------------------------------------------------


def _nanoseconds(microseconds: int) -> int:
    """EINVAL where the product does not fit 64 bits."""
    if microseconds > (_U64 - 1) // USEC:
        raise refuse(EINVAL)
    return microseconds * USEC


def read_quota(css: Cpu) -> int:
    return -1 if css.quota == UNLIMITED else css.quota // USEC


def write_quota(css: Cpu, value: int) -> None:
    """µs per period, any negative for none; EINVAL below 1 ms or over what the parent has."""
    quota = UNLIMITED if value < 0 else _nanoseconds(value)
    set_bandwidth(css, quota=quota, period=css.period, burst=css.burst)


def read_period(css: Cpu) -> int:
    return css.period // USEC


def write_period(css: Cpu, value: int) -> None:
    """µs, 1 ms to 1 s, else EINVAL."""
    set_bandwidth(css, quota=css.quota, period=_nanoseconds(value), burst=css.burst)


def read_burst(css: Cpu) -> int:
    return css.burst // USEC


def write_burst(css: Cpu, value: int) -> None:
    """µs, up to the quota, else EINVAL."""
    set_bandwidth(css, quota=css.quota, period=css.period, burst=_nanoseconds(value))


def show_max(css: Cpu) -> str:
    quota = "max" if css.quota == UNLIMITED else css.quota // USEC
    return f"{quota} {css.period // USEC}\n"


def write_max(css: Cpu, text: str) -> None:
    """`QUOTA|max [PERIOD]` in µs, read like sscanf("%20s %llu"); EINVAL else (cpu_max_write)."""
    token, rest = scan_word(text, 20)
    if token is None:
        raise refuse(EINVAL)
    saturate = css.kernel.saturates
    period = scan_decimal(rest, saturate=saturate)[0]
    quota = scan_decimal(token, saturate=saturate)[0]
    if quota is None and token != "max":
        raise refuse(EINVAL)
    if saturate and quota == UNLIMITED:
        quota = None  # in µs, from 7.2 on, the greatest number stands for no limit
    set_bandwidth(
        css,
        quota=UNLIMITED if quota is None else quota * USEC % _U64,
        period=css.period if period is None else period * USEC % _U64,
        burst=css.burst,
    )


# -- utilization clamps ---------------------------------------------------------------------------


def show_uclamp_min(css: Cpu) -> str:
    return show_percent(css.uclamp_min)


def write_uclamp_min(css: Cpu, text: str) -> None:
    css.uclamp_min = parse_percent(text)


def show_uclamp_max(css: Cpu) -> str:
    return show_percent(css.uclamp_max)


def write_uclamp_max(css: Cpu, text: str) -> None:
    css.uclamp_max = parse_percent(text)


_UCLAMP = (
    CFType("cpu.uclamp.min", Where.CHILD, config="UCLAMP_TASK_GROUP", show=show_uclamp_min, write=write_uclamp_min),
    CFType("cpu.uclamp.max", Where.CHILD, config="UCLAMP_TASK_GROUP", show=show_uclamp_max, write=write_uclamp_max),
)

# -- statistics: what real processes use; nobody is throttled -------------------------------------


def show_stat(cgroup: Cgroup) -> str:
    """µs of CPU time here and below, in the root of the whole machine (cgroup_base_stat_cputime_show)."""
    kernel = cgroup.hierarchy.personality
    if cgroup.parent is None:
        whole = total(cgroup.hierarchy.processes.machine_cpu())
        shown = (whole.user, whole.system)
    else:
        cgroup.hierarchy.membership.count_cpu(cgroup)
        whole = total(cgroup.cpu.values())
        shown = cgroup.cpu_shown = adjusted(whole, cgroup.cpu_shown)
    times = {"usage_usec": sum(shown), "user_usec": shown[0], "system_usec": shown[1]}
    if kernel.at_least(6, 12):
        times["nice_usec"] = whole.nice
    lines = "".join(f"{name} {time // USEC}\n" for name, time in times.items())
    names = []
    if "cpu" in cgroup.csses:
        names += ["nr_periods", "nr_throttled", "throttled_usec"]
        if kernel.at_least(6, 1):
            names += ["nr_bursts", "burst_usec"]
    return lines + "".join(f"{name} 0\n" for name in names)


def show_stat_local(cgroup: Cgroup) -> str:
    return "throttled_usec 0\n" if "cpu" in cgroup.csses else ""


def show_legacy_stat(css: Cpu) -> str:
    names = ["nr_periods", "nr_throttled", "throttled_time"]
    if css.kernel.at_least(6, 1):
        names += ["nr_bursts", "burst_time"]
    return "".join(f"{name} 0\n" for name in names)


def show_legacy_stat_local(css: Cpu) -> str:
    return "throttled_time 0\n"


CPU = Controller(
    "cpu",
    Cpu,
    dfl_base=(
        CFType("cpu.stat", show=show_stat),
        CFType("cpu.stat.local", since=(6, 12), show=show_stat_local),
    ),
    dfl=(
        CFType("cpu.weight", Where.CHILD, read_u64=read_weight, write_u64=write_weight),
        CFType("cpu.weight.nice", Where.CHILD, read_s64=read_nice, write_s64=write_nice),
        CFType("cpu.idle", Where.CHILD, since=(6, 1), read_s64=read_idle, write_s64=write_idle),
        CFType("cpu.max", Where.CHILD, show=show_max, write=write_max),
        CFType("cpu.max.burst", Where.CHILD, since=(6, 1), read_u64=read_burst, write_u64=write_burst),
        *_UCLAMP,
    ),
    legacy=(
        CFType("cpu.shares", read_u64=read_shares, write_u64=write_shares),
        CFType("cpu.idle", since=(6, 1), read_s64=read_idle, write_s64=write_idle),
        CFType("cpu.cfs_quota_us", read_s64=read_quota, write_s64=write_quota),
        CFType("cpu.cfs_period_us", read_u64=read_period, write_u64=write_period),
        CFType("cpu.cfs_burst_us", since=(6, 1), read_u64=read_burst, write_u64=write_burst),
        *realtime.FILES,
        CFType("cpu.stat", show=show_legacy_stat),
        CFType("cpu.stat.local", since=(6, 12), show=show_legacy_stat_local),
        *_UCLAMP,
    ),
    threaded=True,
)
