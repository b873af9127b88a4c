"""Readers and writers of the files that both versions have."""

from __future__ import annotations

from errno import EACCES, EINVAL
from typing import TYPE_CHECKING

from ...credentials.capability import Capability
from ...parse import format_bitlist, parse_bitlist, strstrip
from ...refuse import refuse
from .css import Cpuset, rules_of
from .rules import set_mems

if TYPE_CHECKING:
    from ...core.file_context import FileContext
    from ...credentials.caller import Caller

_MAX_NODES = 1024  # NODES_SHIFT=10
CPUS_MAX_WRITE = 100 + 6 * 8192  # bytes; NR_CPUS=8192
CPUS_MAX_WRITE_256 = 100 + 6 * 256  # NR_CPUS=256
MEMS_MAX_WRITE = 100 + 6 * _MAX_NODES


def parse_cpus(css: Cpuset, text: str) -> int:
    """The CPUs of a list. Raises EINVAL, EOVERFLOW, ERANGE."""
    return parse_bitlist(strstrip(text), css.machine.cpus, words=css.kernel.at_least(5, 12))


def show_cpus(css: Cpuset) -> str:
    return format_bitlist(css.cpus) + "\n"


def write_cpus(css: Cpuset, text: str, of: FileContext, writer: Caller) -> None:
    """Take a list of CPUs (update_cpumask).

    Raises EACCES in the root, then what the list raises, EINVAL on v1 for a CPU that is offline, and what
    `validate_change` raises.
    """
    if css.parent is None:
        raise refuse(EACCES)
    cpus = parse_cpus(css, text)
    if cpus & ~css.top.cpus:
        raise refuse(EINVAL)
    if cpus != css.cpus:
        rules_of(css, writer.capable(Capability.SYS_ADMIN)).set_cpus(css, cpus)


def show_mems(css: Cpuset) -> str:
    return format_bitlist(css.mems) + "\n"


def write_mems(css: Cpuset, text: str) -> None:
    """Take a list of nodes (update_nodemask).

    Raises EACCES in the root, EINVAL for a node that the machine lacks, then what `validate_change` raises.
    """
    if css.parent is None:
        raise refuse(EACCES)
    mems = parse_bitlist(strstrip(text), _MAX_NODES, words=css.kernel.at_least(5, 12))
    if mems >> css.machine.numa_nodes:
        raise refuse(EINVAL)
    if mems != css.mems:
        set_mems(css, mems)


def show_effective_cpus(css: Cpuset) -> str:
    return format_bitlist(css.effective_cpus) + "\n"


def show_effective_mems(css: Cpuset) -> str:
    return format_bitlist(css.effective_mems) + "\n"
