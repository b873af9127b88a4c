"""The memory controller's files on the unified hierarchy (mm/memcontrol.c, memory_files and swap_files)."""

from __future__ import annotations

from collections.abc import Mapping
from errno import EAGAIN, EINVAL
from typing import TYPE_CHECKING
from weakref import WeakSet

from ...core.cftype import PAGE_SIZE, CFType, Where, shown_number
from ...parse import kstrtoint, memparse, strstrip
from ...parse.digits import digits, radix
from ...refuse import refuse
from .css import PAGE_COUNTER_MAX, Memory, parse_pages
from .recalled import items, recall_bytes_used, recall_swap
from .statistics import fault_counts, numa_stat_items, reclaim_counts, stat_amounts, stat_items
from .watermark import Peak

if TYPE_CHECKING:
    from ...core.file_context import FileContext
    from ...credentials.caller import Caller

_SWAPPINESS_MAX = 200


def _limit_row(name: str, attribute: str, config: str | None = None) -> CFType:
    """A file with one limit, which is not compared with other limits."""

    def show(css: Memory) -> str:
        pages: int = getattr(css, attribute)
        return "max\n" if pages == PAGE_COUNTER_MAX else f"{pages * PAGE_SIZE}\n"

    def write(css: Memory, text: str) -> None:
        pages = parse_pages(text, "max", css.kernel)
        setattr(css, attribute, pages)
        if css.reclaimer is not None and attribute in ("max", "high"):
            css.reclaimer.fit(css.cgroup)
        elif attribute == "max" and pages < css.pages_held():
            css.note_oom()  # memory_max_write; no process is killed

    return CFType(name, Where.CHILD, config=config, show=show, write=write)


def read_zero(css: Memory) -> int:
    return 0


def _peak(css: Memory) -> int:
    css.used()
    return css.watermark.get("memory.", 0)


def show_peak(css: Memory) -> str:
    return f"{_peak(css)}\n"


def show_peak_of(css: Memory, of: FileContext) -> list[str]:
    """The peak since a write to this open file, or ever (memory_peak_show)."""
    ever = _peak(css)
    return [f"{of.peak.value if isinstance(of.peak, Peak) else ever}\n"]


def write_peak(css: Memory, text: str, of: FileContext, writer: Caller) -> None:
    """Take any text, which starts a new peak for this open file."""
    of.peak = Peak(css.bytes_used())
    css.peaks = WeakSet([*css.peaks, of.peak])


def show_swap_peak_of(css: Memory, of: FileContext) -> list[str]:
    """The peak since a write to this open file, or ever (swap_peak_show)."""
    css.used()
    return [f"{of.peak.value if isinstance(of.peak, Peak) else css.swap_peak}\n"]


def write_swap_peak(css: Memory, text: str, of: FileContext, writer: Caller) -> None:
    """Take any text, which starts a new peak for this open file."""
    of.peak = Peak(css.swap_bytes())
    css.swap_peaks = WeakSet([*css.swap_peaks, of.peak])


def show_oom_group(css: Memory) -> str:
    return f"{int(css.oom_group)}\n"


def write_oom_group(css: Memory, text: str) -> None:
    """Take 0 or 1 (memory_oom_group_write). Raises EINVAL, ERANGE for a number that is no int."""
    value = kstrtoint(strstrip(text))
    if value not in (0, 1):
        raise refuse(EINVAL)
    css.oom_group = bool(value)


def show_zswap_writeback(css: Memory) -> str:
    return f"{int(css.zswap_writeback)}\n"


def write_zswap_writeback(css: Memory, text: str) -> None:
    """Take 0 or 1. Raises EINVAL, ERANGE for a number that is no int."""
    value = kstrtoint(strstrip(text))
    if value not in (0, 1):
        raise refuse(EINVAL)
    css.zswap_writeback = bool(value)


def write_reclaim(css: Memory, text: str) -> None:
    """Take `SIZE [swappiness=0..200]` (memory_reclaim). Before 6.12 there are no options, and no text means all memory.

    Raises EINVAL for any other text, EAGAIN if less than that can be reclaimed: nothing, but for simulated processes.
    """
    text = strstrip(text)
    if not css.kernel.at_least(6, 12):
        _reclaim(css, parse_pages(text, "", css.kernel), may_swap=True)
        return
    size, rest = memparse(text, saturate=css.kernel.saturates)
    if rest == text:
        raise refuse(EINVAL)
    options = [option for option in strstrip(rest).split(" ") if option]
    for option in options:
        _check_reclaim_option(option, css.kernel.at_least(6, 16))
    _reclaim(css, size // PAGE_SIZE, may_swap="swappiness=0" not in options)


def _reclaim(css: Memory, pages: int, *, may_swap: bool) -> None:
    """Reclaim pages. Raises EAGAIN if not all are found."""
    if pages and (css.reclaimer is None or css.reclaimer.reclaim(css.cgroup, pages, may_swap=may_swap) < pages):
        raise refuse(EAGAIN)


def _check_reclaim_option(option: str, takes_max: bool) -> None:
    """Check that an option is `swappiness=` and an int in base 0, or `max` (match_token, match_int). Raises EINVAL."""
    key, _, value = option.partition("=")
    if takes_max and option == "swappiness=max":
        return
    base, prefix = radix(value)
    number, count = digits(value[prefix:], base)
    if key != "swappiness" or not count or value[prefix + count :] or number > _SWAPPINESS_MAX:
        raise refuse(EINVAL)


def _events(css: Memory, counts: Mapping[str, int]) -> str:
    names = ["low", "high", "max", "oom", "oom_kill"]
    if css.kernel.at_least(6, 1):
        names.append("oom_group_kill")
    if css.kernel.at_least(6, 19):
        names.append("sock_throttled")
    return "".join(f"{name} {counts.get(name, 0)}\n" for name in names)


def show_events(css: Memory) -> str:
    css.settle()
    return _events(css, css.events)


def show_events_local(css: Memory) -> str:
    css.settle()
    return _events(css, css.events_local)


def show_swap_events(css: Memory) -> str:
    css.settle()
    return "".join(f"{name} {css.swap_events.get(name, 0)}\n" for name in ("high", "max", "fail"))


def show_stat(css: Memory) -> str:
    """Bytes here and below, page faults and what reclaim took; other events are 0."""
    amounts = stat_amounts(css.used(), css.usage * PAGE_SIZE) | fault_counts(css.faults())
    amounts |= reclaim_counts(css.cgroup.reclaimed)
    return "".join(f"{name} {amounts.get(name, 0)}\n" for name in stat_items(css.kernel))


def show_numa_stat(css: Memory) -> str:
    """Bytes here and below, all on the first node."""
    amounts = stat_amounts(css.used(), 0)
    others = "".join(f" N{node}=0" for node in range(1, css.machine.numa_nodes))
    return "".join(f"{name} N0={amounts.get(name, 0)}{others}\n" for name in numa_stat_items(css.kernel))


def recall_peak(css: Memory, text: str) -> None:
    css.watermark = {**css.watermark, "memory.": shown_number(text)}


def recall_swap_peak(css: Memory, text: str) -> None:
    css.swap_peak = shown_number(text)


def recall_stat(css: Memory, text: str) -> None:
    """Set the memory here and below that the items tell of. The root shows the machine's instead."""
    if css.parent is None:
        return
    shown = {name: shown_number(f"{amount}\n") for name, amount in items(text).items()}

    def of(name: str) -> int:
        return shown.get(name, 0)

    css.cgroup.memory = css.cgroup.memory._replace(
        anon=of("anon"),
        file=max(0, of("file") - of("shmem")),
        shmem=of("shmem"),
        stacks=of("kernel_stack"),
        tables=of("pagetables"),
        huge=of("anon_thp"),
        locked=of("unevictable"),
        cold=of("inactive_file"),
    )


DFL = (
    CFType("memory.current", Where.CHILD, read_u64=Memory.bytes_used, recall=recall_bytes_used, counts=True),
    CFType(
        "memory.peak",
        Where.CHILD,
        since=(6, 1),
        until=(6, 12),
        show=show_peak,
        recall=recall_peak,
        counts=True,
    ),
    CFType(
        "memory.peak",
        Where.CHILD,
        since=(6, 12),
        show_records=show_peak_of,
        write_of=write_peak,
        again=None,
        recall=recall_peak,
        counts=True,
    ),
    _limit_row("memory.min", "min"),
    _limit_row("memory.low", "low"),
    _limit_row("memory.high", "high"),
    _limit_row("memory.max", "max"),
    CFType("memory.events", Where.CHILD, show=show_events, counts=True),
    CFType("memory.events.local", Where.CHILD, show=show_events_local, counts=True),
    CFType("memory.stat", show=show_stat, recall=recall_stat, counts=True),
    CFType("memory.numa_stat", show=show_numa_stat, counts=True),
    CFType("memory.oom.group", Where.CHILD, delegatable=True, show=show_oom_group, write=write_oom_group),
    CFType("memory.reclaim", delegatable=True, since=(6, 1), write=write_reclaim),
    CFType("memory.swap.current", Where.CHILD, read_u64=Memory.swap_bytes, recall=recall_swap, counts=True),
    _limit_row("memory.swap.high", "swap_high"),
    _limit_row("memory.swap.max", "swap_max"),
    CFType(
        "memory.swap.peak",
        Where.CHILD,
        since=(6, 12),
        show_records=show_swap_peak_of,
        write_of=write_swap_peak,
        again=None,
        recall=recall_swap_peak,
        counts=True,
    ),
    CFType("memory.swap.events", Where.CHILD, show=show_swap_events, counts=True),
    CFType("memory.zswap.current", Where.CHILD, config="ZSWAP", read_u64=read_zero, counts=True),
    _limit_row("memory.zswap.max", "zswap_max", config="ZSWAP"),
    CFType("memory.zswap.writeback", config="ZSWAP", show=show_zswap_writeback, write=write_zswap_writeback),
)
