"""io.stat, and blkio.reset_stats on v1 (block/blk-cgroup.c)."""

from __future__ import annotations

from ...core.cftype import CFType
from .css import Group, Io

# What a disk has counted after boot: its first page was read to look for partitions.
_AT_BOOT = (4096, 0, 1, 0)


def show_stat(css: Io) -> str:
    """A line per disk: its counters, in the root alone, and what io.cost adds (blkcg_print_one_stat).

    5.10 leaves a disk without either out.
    """
    lines = []
    for disk, group in css.newest_first():
        counters = _counters(css, group)
        cost = css.root.costs.get(disk)
        if cost is not None and cost.enabled:
            counters += " cost.vrate=100.00" if css.parent is None else ""
            counters += " cost.usage=0"
        if counters or css.kernel.at_least(6, 1):
            lines.append(f"{disk} {counters}\n")
    return "".join(lines)


def _counters(css: Io, group: Group) -> str:
    """The counters; empty if all are 0."""
    counts = group.counters.whole() if group.counters is not None else (0, 0, 0, 0)
    if css.parent is None:
        rbytes, wbytes, rios, wios = (count + before for count, before in zip(counts, _AT_BOOT, strict=True))
    elif any(counts):
        rbytes, wbytes, rios, wios = counts
    else:
        return ""
    return f"rbytes={rbytes} wbytes={wbytes} rios={rios} wios={wios} dbytes=0 dios=0"


def write_reset_stats(css: Io, value: int) -> None:
    """Take any number, which resets the counters (blkcg_reset_stats)."""
    for group in css.groups.values():
        group.counters = group.own = None
    css.forget_counts()


DFL = (CFType("io.stat", show=show_stat, recall=Io.recall_order, counts=True),)
LEGACY = (CFType("blkio.reset_stats", write_u64=write_reset_stats),)
