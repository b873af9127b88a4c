"""cpu.stat and cpu.stat.local: CPU time that processes use, and what quotas did to them.

Real processes are throttled only where limits are enforced; else their counters are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.cftype import CFType
from ...tasks.cputime import adjusted, total
from .css import USEC, Cpu

if TYPE_CHECKING:
    from ...core.cgroup import Cgroup
    from ...effects.bandwidth import Group


class _Untouched:
    """The counters of a group without throttling. They are those of a new `Group`, which takes a while to load."""

    nr_periods = nr_throttled = throttled_time = nr_bursts = burst_time = halted_time = 0
    unit = 1


def show_stat(cgroup: Cgroup) -> str:
    """CPU time here and below in µs, in the root that of the whole machine (cgroup_base_stat_cputime_show).

    The bandwidth counters follow if the controller is enabled.
    """
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
    css = cgroup.csses.get("cpu")
    if isinstance(css, Cpu):
        lines += _bandwidth(css, "usec", USEC)
    return lines


def _bandwidth(css: Cpu, unit: str, divisor: int) -> str:
    """The counters of bandwidth, with times in units of `divisor` ns (cpu_extra_stat_show, cpu_cfs_stat_show)."""
    counted = _counted(css)
    lines = f"nr_periods {counted.nr_periods}\nnr_throttled {counted.nr_throttled}\n"
    lines += f"throttled_{unit} {counted.throttled_time // divisor}\n"
    if css.kernel.at_least(6, 1):
        lines += f"nr_bursts {counted.nr_bursts}\nburst_{unit} {int(counted.burst_time) // counted.unit // divisor}\n"
    return lines


def _counted(css: Cpu) -> Group | type[_Untouched]:
    """The bandwidth of a group, with what it has counted until now."""
    simulated = css.cgroup.hierarchy.membership.simulated
    if css.throttling is not None and simulated is not None:
        simulated.count_throttling(css.throttling)
    return css.throttling or _Untouched


def show_stat_local(cgroup: Cgroup) -> str:
    """How long tasks here waited while this cgroup or one above was throttled, in µs (cpu_local_stat_show)."""
    css = cgroup.csses.get("cpu")
    return f"throttled_usec {_halted(css) // USEC}\n" if isinstance(css, Cpu) else ""


def _halted(css: Cpu) -> int:
    return _counted(css).halted_time


def show_legacy_stat(css: Cpu) -> str:
    return _bandwidth(css, "time", 1)


def show_legacy_stat_local(css: Cpu) -> str:
    """As `show_stat_local`, in ns."""
    return f"throttled_time {_halted(css)}\n"


DFL_BASE = (
    CFType("cpu.stat", show=show_stat, counts=True),
    CFType("cpu.stat.local", since=(6, 12), show=show_stat_local, counts=True),
)
LEGACY = (
    CFType("cpu.stat", show=show_legacy_stat, counts=True),
    CFType("cpu.stat.local", since=(6, 12), show=show_legacy_stat_local, counts=True),
)
