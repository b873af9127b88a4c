"""Limits per disk: io.max, and blkio.throttle.* on v1 (block/blk-throttle.c)."""

from __future__ import annotations

from errno import EINVAL, ERANGE

from ...core.cftype import CFType, Where
from ...parse import scan_decimal, scan_word
from ...refuse import refuse
from .css import BPS_MAX, IOPS_MAX, Io, newest_last

_MOST = {"rbps": BPS_MAX, "wbps": BPS_MAX, "riops": IOPS_MAX, "wiops": IOPS_MAX}
_TOKEN = 26  # characters: a longer word is read as several words


def lazy(css: Io) -> bool:
    """True for kernels that start to throttle a disk when its first limit is written."""
    return css.kernel.at_least(6, 12)


def _activate(css: Io, disk: str) -> None:
    """Start to throttle a disk (blk_throtl_init). A later error in the same write does not undo it."""
    if disk not in css.root.throttled:
        css.root.throttled |= {disk}


def show_max(css: Io) -> str:
    """A line per disk with a limit."""
    lines = []
    for disk, group in css.newest_first():
        if group.limits != _MOST:
            shown = {key: "max" if value == _MOST[key] else value for key, value in group.limits.items()}
            lines.append(disk + "".join(f" {key}={value}" for key, value in shown.items()) + "\n")
    return "".join(lines)


def write_max(css: Io, text: str) -> None:
    """Take `MAJOR:MINOR KEY=VALUE ...`, bytes/s and operations/s or `max`, all or nothing (tg_set_limit).

    Raises EINVAL, ENODEV for the disk, then for the first bad word ERANGE if it is 0, else EINVAL.
    """
    disk, rest = css.open_disk(text)
    _activate(css, disk)
    group = css.group(disk)
    limits = group.limits.copy()
    least = 1 if css.kernel.at_least(6, 16) else 2
    while True:
        word, rest = scan_word(rest, _TOKEN)
        if word is None:
            break
        key, _, amount = word.partition("=")
        value = scan_decimal(amount, saturate=css.kernel.saturates)[0]
        if value is None and amount == "max":
            value = BPS_MAX
        if value is None:
            raise refuse(EINVAL)
        if value == 0:
            raise refuse(ERANGE)
        if key not in limits or value < least:
            raise refuse(EINVAL)
        limits[key] = min(value, _MOST[key])
    group.limits = limits


def _device_row(name: str, key: str) -> CFType:
    def show(css: Io) -> str:
        limits = [(disk, group.limits[key]) for disk, group in css.newest_first()]
        return "".join(f"{disk} {limit}\n" for disk, limit in limits if limit != _MOST[key])

    def write(css: Io, text: str) -> None:
        """Take `MAJOR:MINOR VALUE`, 0 for no limit (tg_set_conf); operations/s are cut to 32 bits.

        Raises EINVAL, ENODEV.
        """
        disk, rest = css.open_disk(text)
        _activate(css, disk)
        group = css.group(disk)
        value = scan_decimal(rest, saturate=css.kernel.saturates)[0]
        if value is None:
            raise refuse(EINVAL)
        group.limits = {**group.limits, key: (value or BPS_MAX) & _MOST[key]}

    return CFType(f"blkio.throttle.{name}", show=show, write=write, again=newest_last)


def _counters_row(name: str, *, operations: bool, recursive: bool) -> CFType:
    def show(css: Io) -> str:
        """Six lines per throttled disk and their sum (tg_print_rwstat). All is synchronous: nothing is cached."""
        lines = []
        every = 0
        for disk, group in css.newest_first():
            if lazy(css) and disk not in css.root.throttled:
                continue
            counters = group.counters if recursive else group.own
            counts = counters.whole() if counters is not None else (0, 0, 0, 0)
            read, written = counts[2:] if operations else counts[:2]
            total = read + written
            kinds = {"Read": read, "Write": written, "Sync": total, "Async": 0, "Discard": 0, "Total": total}
            lines += [f"{disk} {kind} {count}\n" for kind, count in kinds.items()]
            every += total
        return "".join(lines) + f"Total {every}\n"

    return CFType(f"blkio.throttle.{name}", show=show, recall=Io.recall_order, counts=True)


DFL = (CFType("io.max", Where.CHILD, show=show_max, write=write_max, again=newest_last),)
LEGACY = (
    _device_row("read_bps_device", "rbps"),
    _device_row("write_bps_device", "wbps"),
    _device_row("read_iops_device", "riops"),
    _device_row("write_iops_device", "wiops"),
    _counters_row("io_service_bytes", operations=False, recursive=False),
    _counters_row("io_service_bytes_recursive", operations=False, recursive=True),
    _counters_row("io_serviced", operations=True, recursive=False),
    _counters_row("io_serviced_recursive", operations=True, recursive=True),
)
