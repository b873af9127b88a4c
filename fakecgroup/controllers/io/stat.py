"""io.stat, and blkio.reset_stats on v1 (block/blk-cgroup.c)."""

from __future__ import annotations

from ...core.cftype import CFType
from .css import Io

# The counters of a disk after boot: its first page was read to look for partitions.
_DISK = "rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0"


def show_stat(css: Io) -> str:
    """A line per disk: its counters, in the root alone, and what io.cost adds (blkcg_print_one_stat).

    5.10 leaves a disk without either out.
    """
    lines = []
    for disk, _ in css.newest_first():
        counters = _DISK if css.parent is None else ""
        cost = css.root.costs.get(disk)
        if cost is not None and cost.enabled:
            counters += " cost.vrate=100.00" if css.parent is None else ""
            counters += " cost.usage=0"
        if counters or css.kernel.at_least(6, 1):
            lines.append(f"{disk} {counters}\n")
    return "".join(lines)


def write_reset_stats(css: Io, value: int) -> None:
    """Take any number, which resets the counters: they are 0 already."""


DFL = (CFType("io.stat", show=show_stat),)
LEGACY = (CFType("blkio.reset_stats", write_u64=write_reset_stats),)
