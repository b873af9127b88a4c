"""The cpuset controller's files on the unified hierarchy (kernel/cgroup/cpuset.c, dfl_files)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from errno import EINVAL
from typing import TYPE_CHECKING

from ...core.cftype import CFType, Where
from ...credentials.capability import Capability
from ...late_pattern import pattern
from ...parse import format_bitlist, strstrip
from ...refuse import refuse
from .css import Cpuset, rules_of
from .files import (
    CPUS_MAX_WRITE,
    MEMS_MAX_WRITE,
    parse_cpus,
    show_cpus,
    show_effective_cpus,
    show_effective_mems,
    show_mems,
    write_cpus,
    write_mems,
)
from .state import Partition

_INVALID = pattern(r"(root|isolated) invalid(?: \(([\w .,-]{1,100})\))?\n", re.ASCII)

if TYPE_CHECKING:
    from ...core.file_context import FileContext
    from ...credentials.caller import Caller


def show_partition(css: Cpuset) -> str:
    """`member`, `root` or `isolated`, for an invalid one as in `root invalid (REASON)`."""
    kind = css.partition.kind
    if css.partition.invalid:
        kind += f" invalid ({css.reason})" if css.reason else " invalid"
    return kind + "\n"


def write_partition(css: Cpuset, text: str, of: FileContext, writer: Caller) -> None:
    """Take `root`, `member` or, from 6.1 on, `isolated`. Raises EINVAL.

    5.10 refuses an impossible partition, too; later kernels make it invalid.
    """
    kind = strstrip(text)
    if kind not in ("root", "member") and not (kind == "isolated" and css.kernel.at_least(6, 1)):
        raise refuse(EINVAL)
    rules_of(css, writer.capable(Capability.SYS_ADMIN)).set_partition(css, kind)


def _partition_again(text: str) -> Iterator[str]:
    """The kind, without whether it is invalid."""
    yield text.partition(" ")[0]


def _recall_partition(css: Cpuset, text: str) -> None:
    """Have an invalid partition. Its reason may follow from what was written before, in what order."""
    found = _INVALID().fullmatch(text)
    if found is None:
        raise ValueError("no invalid partition")
    if css.partition.valid:
        rules_of(css).set_partition(css, "member")
    css.partition, css.reason = Partition(found[1], valid=False), found[2] or ""


def show_exclusive(css: Cpuset) -> str:
    return format_bitlist(css.exclusive) + "\n"


def write_exclusive(css: Cpuset, text: str, of: FileContext, writer: Caller) -> None:
    """Take a list of CPUs (update_exclusive_cpumask). Raises EINVAL for CPUs that a sibling holds."""
    cpus = parse_cpus(css, text)
    if cpus != css.exclusive:
        rules_of(css, writer.capable(Capability.SYS_ADMIN)).set_exclusive(css, cpus)


def show_exclusive_effective(css: Cpuset) -> str:
    return format_bitlist(css.exclusive_effective) + "\n"


def _recall_exclusive_effective(css: Cpuset, text: str) -> None:
    """Have these CPUs: an invalid partition of 6.12 can still show some."""
    try:
        css.exclusive_effective = parse_cpus(css, text)
    except OSError:
        raise ValueError("no list of CPUs") from None


def show_isolated(css: Cpuset) -> str:
    return format_bitlist(css.isolated) + "\n"


DFL = (
    CFType("cpuset.cpus", Where.CHILD, max_write=CPUS_MAX_WRITE, show=show_cpus, write_of=write_cpus),
    CFType("cpuset.mems", Where.CHILD, max_write=MEMS_MAX_WRITE, show=show_mems, write=write_mems),
    CFType("cpuset.cpus.effective", show=show_effective_cpus),
    CFType("cpuset.mems.effective", show=show_effective_mems),
    CFType(
        "cpuset.cpus.partition",
        Where.CHILD,
        show=show_partition,
        write_of=write_partition,
        again=_partition_again,
        recall=_recall_partition,
    ),
    CFType(
        "cpuset.cpus.exclusive",
        Where.CHILD,
        since=(6, 12),
        max_write=CPUS_MAX_WRITE,
        show=show_exclusive,
        write_of=write_exclusive,
    ),
    CFType(
        "cpuset.cpus.exclusive.effective",
        Where.CHILD,
        since=(6, 12),
        show=show_exclusive_effective,
        recall=_recall_exclusive_effective,
    ),
    CFType("cpuset.cpus.isolated", Where.ROOT, since=(6, 12), show=show_isolated),
)
