"""The cpuacct controller, v1 only (kernel/sched/cpuacct.c): the CPU time of real processes, here and below, in ns.

Only the last CPU that a process ran on is known. So the files by CPU are rough, but their sum is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from errno import EINVAL
from types import MappingProxyType

from ..core.cftype import CFType
from ..core.css import Controller, Css
from ..refuse import refuse
from ..tasks.cputime import adjusted, total
from ..tasks.usage import CpuTime

_TICK = 10_000_000  # ns, of cpuacct.stat


class CpuAcct(Css):
    """`reset` is the CPU time when cpuacct.usage was last set to 0, `shown` the ns in the last cpuacct.stat."""

    reset: Mapping[int, CpuTime] = MappingProxyType({})
    shown: tuple[int, int] = (0, 0)

    def used(self) -> Mapping[int, CpuTime]:
        """CPU time by CPU, without CPUs that were not used; in the root, of the whole machine."""
        cgroup = self.cgroup
        if cgroup.parent is None:
            return _folded(cgroup.hierarchy.processes.machine_cpu(), self.machine.cpus)
        cgroup.hierarchy.membership.count_cpu(cgroup)
        if not self.reset:
            return cgroup.cpu
        return {cpu: time.less(self.reset.get(cpu, CpuTime())) for cpu, time in cgroup.cpu.items()}

    def by_cpu(self) -> list[tuple[int, CpuTime]]:
        """Every CPU with its time."""
        used = self.used()
        return [(cpu, used.get(cpu, CpuTime())) for cpu in range(self.machine.cpus)]


def _folded(times: Iterable[CpuTime], cpus: int) -> Mapping[int, CpuTime]:
    """The times of the host's CPUs on a machine that may have fewer."""
    folded: dict[int, CpuTime] = {}
    for cpu, time in enumerate(times):
        folded[cpu % cpus] = folded.get(cpu % cpus, CpuTime()).plus(time)
    return folded


def _run(time: CpuTime) -> int:
    return time.run


def _user(time: CpuTime) -> int:
    return time.user


def _system(time: CpuTime) -> int:
    return time.system


def write_usage(css: CpuAcct, value: int) -> None:
    """Take 0, which resets this group alone; in the root it does nothing. Raises EINVAL for anything else."""
    if value:
        raise refuse(EINVAL)
    if css.parent is None:
        return
    css.used()
    css.reset = css.cgroup.cpu
    css.forget_counts()
    if not css.kernel.at_least(6, 1):
        css.shown = (0, 0)  # later kernels show the old cpuacct.stat until as much is used again


def _sum(part: Callable[[CpuTime], int]) -> Callable[[CpuAcct], int]:
    return lambda css: part(total(css.used().values()))


def _by_cpu(part: Callable[[CpuTime], int]) -> Callable[[CpuAcct], str]:
    def show(css: CpuAcct) -> str:
        return "".join(f"{part(time)} " for _, time in css.by_cpu()) + "\n"

    return show


def show_all(css: CpuAcct) -> str:
    return "cpu user system\n" + "".join(f"{cpu} {time.user} {time.system}\n" for cpu, time in css.by_cpu())


def show_stat(css: CpuAcct) -> str:
    """User and system time in 1/100 s (cpuacct_stats_show)."""
    time = total(css.used().values())
    if css.parent is None:
        css.shown = (time.user, time.system)
    else:
        css.shown = adjusted(time, css.shown)
    return f"user {css.shown[0] // _TICK}\nsystem {css.shown[1] // _TICK}\n"


CPUACCT = Controller(
    "cpuacct",
    CpuAcct,
    legacy=(
        CFType("cpuacct.usage", read_u64=_sum(_run), write_u64=write_usage, again=None, counts=True),
        CFType("cpuacct.usage_user", read_u64=_sum(_user), counts=True),
        CFType("cpuacct.usage_sys", read_u64=_sum(_system), counts=True),
        CFType("cpuacct.usage_percpu", show=_by_cpu(_run), counts=True),
        CFType("cpuacct.usage_percpu_user", show=_by_cpu(_user), counts=True),
        CFType("cpuacct.usage_percpu_sys", show=_by_cpu(_system), counts=True),
        CFType("cpuacct.usage_all", show=show_all, counts=True),
        CFType("cpuacct.stat", show=show_stat, counts=True),
    ),
)
