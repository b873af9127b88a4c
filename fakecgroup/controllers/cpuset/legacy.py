"""The cpuset controller's files on v1 (kernel/cgroup/cpuset.c, legacy_files)."""

from __future__ import annotations

from errno import EINVAL

from ...core.cftype import CFType, Where
from ...refuse import refuse
from .css import Cpuset
from .files import (
    CPUS_MAX_WRITE,
    CPUS_MAX_WRITE_256,
    MEMS_MAX_WRITE,
    show_cpus,
    show_effective_cpus,
    show_effective_mems,
    show_mems,
    write_cpus,
    write_mems,
)
from .rules import set_flag

_U32 = 0xFFFFFFFF


def _flag_row(name: str, attribute: str) -> CFType:
    """A flag. The low 32 bits of the written number decide."""

    def read(css: Cpuset) -> int:
        return int(getattr(css, attribute))

    def write(css: Cpuset, value: int) -> None:
        set_flag(css, attribute, value & _U32 != 0)

    return CFType(name, read_u64=read, write_u64=write)


def read_relax_domain_level(css: Cpuset) -> int:
    return css.relax_domain_level


def _relax_domain_level_max(css: Cpuset) -> int:
    """The number of levels of scheduling domains on a machine whose CPUs share nothing but their node.

    It depends on whether there is one CPU, one node, or several nodes. Kernels from 6.1 on have a level of clusters.
    """
    if css.machine.cpus == 1:
        return 1
    levels = 3 if css.kernel.at_least(6, 1) else 2
    return levels if css.machine.numa_nodes == 1 else levels + 2


def write_relax_domain_level(css: Cpuset, value: int) -> None:
    """Take -1 to the number of levels of scheduling domains (update_relax_domain_level). Raises EINVAL."""
    if not -1 <= value <= _relax_domain_level_max(css):
        raise refuse(EINVAL)
    css.relax_domain_level = value


def read_memory_pressure(css: Cpuset) -> int:
    """Always 0: no task of a fake cgroup ever has to reclaim."""
    return 0


def read_memory_pressure_enabled(css: Cpuset) -> int:
    return int(css.memory_pressure_enabled)


def write_memory_pressure_enabled(css: Cpuset, value: int) -> None:
    css.memory_pressure_enabled = value != 0


LEGACY = (
    CFType("cpuset.cpus", config="NR_CPUS_8192", max_write=CPUS_MAX_WRITE, show=show_cpus, write_of=write_cpus),
    CFType("cpuset.cpus", config="NR_CPUS_256", max_write=CPUS_MAX_WRITE_256, show=show_cpus, write_of=write_cpus),
    CFType("cpuset.mems", max_write=MEMS_MAX_WRITE, show=show_mems, write=write_mems),
    CFType("cpuset.effective_cpus", show=show_effective_cpus),
    CFType("cpuset.effective_mems", show=show_effective_mems),
    _flag_row("cpuset.cpu_exclusive", "cpu_exclusive"),
    _flag_row("cpuset.mem_exclusive", "mem_exclusive"),
    _flag_row("cpuset.mem_hardwall", "mem_hardwall"),
    _flag_row("cpuset.sched_load_balance", "sched_load_balance"),
    CFType("cpuset.sched_relax_domain_level", read_s64=read_relax_domain_level, write_s64=write_relax_domain_level),
    _flag_row("cpuset.memory_migrate", "memory_migrate"),
    CFType("cpuset.memory_pressure", read_u64=read_memory_pressure, counts=True),
    _flag_row("cpuset.memory_spread_page", "spread_page"),
    _flag_row("cpuset.memory_spread_slab", "spread_slab"),
    CFType(
        "cpuset.memory_pressure_enabled",
        Where.ROOT,
        read_u64=read_memory_pressure_enabled,
        write_u64=write_memory_pressure_enabled,
    ),
)
