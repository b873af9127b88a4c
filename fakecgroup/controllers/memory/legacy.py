"""The memory controller's files on v1 (mm/memcontrol.c, mem_cgroup_legacy_files)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from errno import EBUSY, EINVAL

from ...core.cftype import PAGE_SIZE, CFType, shown_number
from ...core.css import Css
from ...refuse import refuse
from ...tasks.usage import MemoryUse
from .css import PAGE_COUNTER_MAX, Memory, parse_pages
from .events import write_event_control
from .recalled import items, recall_bytes_and_swap, recall_bytes_used
from .statistics import fault_counts, lists

_MOVE_MASK = 3


# -- limits ---------------------------------------------------------------------------------------


def _resize(css: Memory, pages: int) -> None:
    """Set the limit of memory (mem_cgroup_resize_max).

    Raises EINVAL above memory.memsw.limit_in_bytes, EBUSY below the usage.
    """
    if pages > css.memsw_max:
        raise refuse(EINVAL)
    if pages < (css.pages_held() if css.reclaimer is None else _reclaimed(css, pages)):
        raise refuse(EBUSY)
    css.max = pages


def _resize_memsw(css: Memory, pages: int) -> None:
    """Set the limit of memory and swap. Raises EINVAL below memory.limit_in_bytes, EBUSY below the processes' usage."""
    if pages < css.max:
        raise refuse(EINVAL)
    held = css.pages_held() if css.reclaimer is None else _reclaimed(css, pages, memsw=True)
    if pages < held - css.usage:
        raise refuse(EBUSY)
    css.memsw_max = pages


def _reclaimed(css: Memory, pages: int, *, memsw: bool = False) -> int:
    """Reclaim down to so many pages. Returns the usage then, with `memsw` that of memory and swap."""
    css.used()
    assert css.reclaimer is not None
    over = css.reclaimer.held(css.cgroup) + (css.swap_pages if memsw else 0) - pages
    if over > 0:
        css.reclaimer.reclaim(css.cgroup, over, may_swap=not memsw)
    return css.reclaimer.held(css.cgroup) + (css.swap_pages if memsw else 0)


def _set_tcp(css: Memory, pages: int) -> None:
    css.tcpmem_max = pages


def _set_kmem(css: Memory, pages: int) -> None:
    """Set the limit of kernel memory; from 6.1 on without effect. Raises EBUSY below the usage."""
    if css.kernel.at_least(6, 1):
        return
    if pages * PAGE_SIZE < css.kernel_bytes():
        raise refuse(EBUSY)
    css.kmem_max = pages


def _limit_row(name: str, read: Callable[[Memory], int], resize: Callable[[Memory, int], None]) -> CFType:
    """A file with a limit in bytes, `-1` for none. In the root a write is EINVAL, after the parser's errors."""

    def write(css: Memory, text: str) -> None:
        pages = parse_pages(text, "-1", css.kernel)
        if css.parent is None:
            raise refuse(EINVAL)
        resize(css, pages)

    return CFType(name, read_u64=lambda css: read(css) * PAGE_SIZE, write=write)


def read_soft_limit(css: Memory) -> int:
    return css.soft_limit * PAGE_SIZE


def write_soft_limit(css: Memory, text: str) -> None:
    css.soft_limit = parse_pages(text, "-1", css.kernel)


# -- counters -------------------------------------------------------------------------------------


def read_zero(css: Memory) -> int:
    return 0


def _counter_rows(
    prefix: str, read: Callable[[Memory], int], recall: Callable[[Memory, str], None] | None = None
) -> tuple[CFType, ...]:
    def read_max(css: Memory) -> int:
        return max(read(css), css.watermark.get(prefix, 0))

    def reset_max(css: Memory, text: str) -> None:
        """Take any text, which sets the peak to the usage now (mem_cgroup_reset)."""
        css.watermark = {**css.watermark, prefix: read(css)}

    def read_failcnt(css: Memory) -> int:
        css.settle()
        return css.failcnt.get(prefix, 0)

    def reset_failcnt(css: Memory, text: str) -> None:
        """Take any text, which resets the counter (mem_cgroup_reset)."""
        css.failcnt = {**css.failcnt, prefix: 0}

    def recall_max(css: Memory, text: str) -> None:
        css.watermark = {**css.watermark, prefix: shown_number(text)}

    def recall_failcnt(css: Memory, text: str) -> None:
        css.failcnt = {**css.failcnt, prefix: shown_number(text)}

    return (
        CFType(f"{prefix}usage_in_bytes", read_u64=read, recall=recall, counts=True),
        CFType(
            f"{prefix}max_usage_in_bytes",
            read_u64=read_max,
            write=reset_max,
            again=None,
            recall=recall_max,
            counts=True,
        ),
        CFType(
            f"{prefix}failcnt",
            read_u64=read_failcnt,
            write=reset_failcnt,
            again=None,
            recall=recall_failcnt,
            counts=True,
        ),
    )


def write_force_empty(css: Memory, text: str) -> None:
    """Take any text, and reclaim what can be (mem_cgroup_force_empty). Raises EINVAL in the root."""
    if css.parent is None:
        raise refuse(EINVAL)
    if css.reclaimer is not None:
        css.used()
        css.reclaimer.reclaim(css.cgroup, css.pages)


_STAT = """
    cache rss rss_huge shmem mapped_file dirty writeback workingset_refault_anon workingset_refault_file swap pgpgin
    pgpgout pgfault pgmajfault inactive_anon active_anon inactive_file active_file unevictable
""".split()


def _stat_names(css: Memory) -> list[str]:
    if css.kernel.at_least(6, 18):
        after = _STAT.index("swap") + 1
        return [*_STAT[:after], "swapcached", *_STAT[after:]]
    if css.kernel.at_least(6, 1):
        return _STAT
    return [name for name in _STAT if not name.startswith("workingset_")]


def show_stat(css: Memory) -> str:
    """The items of this group, the least limits on the way up in bytes, and the items of the subtree."""
    memory = memsw = PAGE_COUNTER_MAX
    level: Css | None = css
    while isinstance(level, Memory):
        memory, memsw = min(memory, level.max), min(memsw, level.memsw_max)
        level = level.parent
    names = _stat_names(css)
    below = _amounts(css.used()) | fault_counts(css.faults())
    here = _amounts(css.used_here()) | fault_counts(css.faults_here())
    lines = [f"{name} {here.get(name, 0)}" for name in names]
    lines += [f"hierarchical_memory_limit {memory * PAGE_SIZE}", f"hierarchical_memsw_limit {memsw * PAGE_SIZE}"]
    lines += [f"total_{name} {below.get(name, 0)}" for name in names]
    return "\n".join(lines) + "\n"


def recall_stat(css: Memory, text: str) -> None:
    """Set the memory here and below that the items tell of. The root shows the machine's instead."""
    if css.parent is None:
        return
    shown = {name: shown_number(f"{amount}\n") for name, amount in items(text).items()}
    css.cgroup.memory_here = _use({name: shown.get(name, 0) for name in _STAT}, css.cgroup.memory_here)
    css.cgroup.memory = _use({name: shown.get(f"total_{name}", 0) for name in _STAT}, css.cgroup.memory)


def _use(shown: Mapping[str, int], before: MemoryUse) -> MemoryUse:
    """The memory whose `_amounts` are these, with the kernel's memory as `before`."""
    return before._replace(
        anon=shown["rss"],
        file=max(0, shown["cache"] - shown["shmem"]),
        shmem=shown["shmem"],
        huge=shown["rss_huge"],
        locked=shown["unevictable"],
        swap=shown["swap"],
        cold=shown["inactive_file"],
    )


def _amounts(use: MemoryUse) -> dict[str, int]:
    """The known items, in bytes."""
    return {
        "cache": use.file + use.shmem,
        "rss": use.anon,
        "rss_huge": use.huge,
        "shmem": use.shmem,
        "mapped_file": use.file + use.shmem,
        "swap": use.swap,
        **lists(use),
    }


def show_numa_stat(css: Memory) -> str:
    """Pages, all on the first node."""
    others = "".join(f" N{node}=0" for node in range(1, css.machine.numa_nodes))
    lines = []
    for prefix, use in (("", css.used_here()), ("hierarchical_", css.used())):
        pages_on = {name: amount // PAGE_SIZE for name, amount in lists(use).items()}
        file = pages_on["active_file"] + pages_on["inactive_file"]
        anon, locked = pages_on["inactive_anon"], pages_on["unevictable"]
        for name, pages in (("total", file + anon + locked), ("file", file), ("anon", anon), ("unevictable", locked)):
            lines.append(f"{prefix}{name}={pages} N0={pages}{others}\n")
    return "".join(lines)


def show_slabinfo(css: Memory) -> str:
    return ""


# -- behaviour ------------------------------------------------------------------------------------


def read_swappiness(css: Memory) -> int:
    return css.swappiness


def write_swappiness(css: Memory, value: int) -> None:
    """Take 0..200, before 5.14 0..100. Raises EINVAL."""
    if value > (200 if css.kernel.at_least(5, 14) else 100):
        raise refuse(EINVAL)
    css.swappiness = value


def show_oom_control(css: Memory) -> str:
    css.settle()
    kills = css.events_local.get("oom_kill", 0)
    return f"oom_kill_disable {int(css.oom_kill_disable)}\nunder_oom {int(css.is_under_oom)}\noom_kill {kills}\n"


def write_oom_control(css: Memory, value: int) -> None:
    """Take 0 or 1. Raises EINVAL for any other number, and in the root."""
    if css.parent is None or value not in (0, 1):
        raise refuse(EINVAL)
    css.oom_kill_disable = bool(value)


def _oom_control_again(text: str) -> list[str]:
    return [items(text).get("oom_kill_disable", "")]


def recall_oom_control(css: Memory, text: str) -> None:
    """Set the kills that were counted. A write sets the rest, and who waits for room is not known."""
    kills = items(text).get("oom_kill", "0")
    css.events_local = {**css.events_local, "oom_kill": shown_number(f"{kills}\n")}


def read_move_charge(css: Memory) -> int:
    return css.move_charge


def write_move_charge(css: Memory, value: int) -> None:
    """Take bits 0 and 1; 6.18 moves no charges and takes 0 alone. Raises EINVAL for other bits of the low 32."""
    if css.kernel.at_least(6, 18) and value:
        raise refuse(EINVAL)
    if value & ~_MOVE_MASK & 0xFFFFFFFF:
        raise refuse(EINVAL)
    css.move_charge = value


def read_use_hierarchy(css: Memory) -> int:
    return int(css.use_hierarchy)


def write_use_hierarchy(css: Memory, value: int) -> None:
    """Take 0 or 1; from 5.11 on 1 alone. The old value is always taken.

    Raises EINVAL for any other number, and if the parent has 1, EBUSY with children.
    """
    if value == int(css.use_hierarchy):
        return
    parent = css.parent
    if css.kernel.at_least(5, 11) or value > 1 or (isinstance(parent, Memory) and parent.use_hierarchy):
        raise refuse(EINVAL)
    if css.cgroup.children:
        raise refuse(EBUSY)
    css.use_hierarchy = bool(value)


LEGACY = (
    *_counter_rows("memory.", Memory.bytes_used, recall_bytes_used),
    _limit_row("memory.limit_in_bytes", lambda css: css.max, _resize),
    CFType("memory.soft_limit_in_bytes", read_u64=read_soft_limit, write=write_soft_limit),
    CFType("memory.stat", show=show_stat, recall=recall_stat, counts=True),
    CFType("memory.force_empty", write=write_force_empty),
    CFType("memory.use_hierarchy", read_u64=read_use_hierarchy, write_u64=write_use_hierarchy),
    CFType("cgroup.event_control", mode=0o222, write_of=write_event_control),
    CFType("memory.swappiness", read_u64=read_swappiness, write_u64=write_swappiness),
    CFType("memory.move_charge_at_immigrate", read_u64=read_move_charge, write_u64=write_move_charge),
    CFType(
        "memory.oom_control",
        show=show_oom_control,
        write_u64=write_oom_control,
        again=_oom_control_again,
        recall=recall_oom_control,
    ),
    CFType("memory.pressure_level", mode=0, until=(6, 18)),
    CFType("memory.pressure_level", mode=0o444, since=(6, 18)),
    CFType("memory.numa_stat", show=show_numa_stat, counts=True),
    *_counter_rows("memory.kmem.", Memory.kernel_bytes),
    _limit_row("memory.kmem.limit_in_bytes", lambda css: css.kmem_max, _set_kmem),
    CFType("memory.kmem.slabinfo", show=show_slabinfo, counts=True),
    *_counter_rows("memory.kmem.tcp.", read_zero),
    _limit_row("memory.kmem.tcp.limit_in_bytes", lambda css: css.tcpmem_max, _set_tcp),
    *_counter_rows("memory.memsw.", Memory.bytes_and_swap, recall_bytes_and_swap),
    _limit_row("memory.memsw.limit_in_bytes", lambda css: css.memsw_max, _resize_memsw),
)
