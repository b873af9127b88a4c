"""The cpuacct controller, v1 only (kernel/sched/cpuacct.c). Nothing runs in a fake cgroup, so all is 0 ns."""

from __future__ import annotations

from errno import EINVAL

from ..cftype import CFType
from ..css import Controller, Css
from ..refuse import refuse


def read_usage(css: Css) -> int:
    return 0


def write_usage(css: Css, value: int) -> None:
    """Only 0, which resets; EINVAL else."""
    if value:
        raise refuse(EINVAL)


def show_percpu(css: Css) -> str:
    return "0 " * css.machine.cpus + "\n"


def show_all(css: Css) -> str:
    return "cpu user system\n" + "".join(f"{cpu} 0 0\n" for cpu in range(css.machine.cpus))


def show_stat(css: Css) -> str:
    return "user 0\nsystem 0\n"


CPUACCT = Controller(
    "cpuacct",
    Css,
    legacy=(
        CFType("cpuacct.usage", read_u64=read_usage, write_u64=write_usage),
        CFType("cpuacct.usage_user", read_u64=read_usage),
        CFType("cpuacct.usage_sys", read_u64=read_usage),
        CFType("cpuacct.usage_percpu", show=show_percpu),
        CFType("cpuacct.usage_percpu_user", show=show_percpu),
        CFType("cpuacct.usage_percpu_sys", show=show_percpu),
        CFType("cpuacct.usage_all", show=show_all),
        CFType("cpuacct.stat", show=show_stat),
    ),
)
