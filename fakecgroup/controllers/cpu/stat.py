"""cpu.stat and cpu.stat.local: CPU time that real processes use. Nobody is throttled, so those counters are 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.cftype import CFType
from ...tasks.cputime import adjusted, total
from .css import USEC, Cpu

if TYPE_CHECKING:
    from ...core.cgroup import Cgroup


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


DFL_BASE = (
    CFType("cpu.stat", show=show_stat),
    CFType("cpu.stat.local", since=(6, 12), show=show_stat_local),
)
LEGACY = (
    CFType("cpu.stat", show=show_legacy_stat),
    CFType("cpu.stat.local", since=(6, 12), show=show_legacy_stat_local),
)
