"""The hugetlb controller (mm/hugetlb_cgroup.c), for the huge pages of x86-64 and arm64. None is ever in use.

Limits are kept in base pages, as multiples of the huge page. Each size has a limit of pages and one of reservations.
"""

from __future__ import annotations

from dataclasses import replace
from errno import EINVAL

from ..core.cftype import PAGE_SIZE, CFType, Where
from ..core.css import Controller, Css
from ..refuse import refuse
from .memory.css import PAGE_COUNTER_MAX, parse_pages

_SIZES = {"2MB": 2 << 20, "1GB": 1 << 30, "32MB": 32 << 20, "64KB": 64 << 10}  # bytes


class Hugetlb(Css):
    """`limits` in base pages, by the middle of the file's name (`2MB`, `2MB.rsvd`). Limits never set are absent."""

    limits: dict[str, int] | None = None

    def set_limit(self, name: str, pages: int) -> None:
        self.limits = {**(self.limits or {}), name: pages}

    def limit(self, name: str, size: int) -> int:
        unlimited = PAGE_COUNTER_MAX // (size // PAGE_SIZE) * (size // PAGE_SIZE)
        return (self.limits or {}).get(name, unlimited)


def _read_zero(css: Hugetlb) -> int:
    return 0


def _write_reset(css: Hugetlb, text: str) -> None:
    """Take any text, which resets the counter: it is 0 already."""


def _show_events(css: Hugetlb) -> str:
    return "max 0\n"


def _show_numa_stat(css: Hugetlb) -> str:
    nodes = "".join(f" N{node}=0" for node in range(css.machine.numa_nodes))
    legacy = "" if css.on_dfl else f"hierarchical_total=0{nodes}\n"
    return f"total=0{nodes}\n{legacy}"


def _parse(css: Hugetlb, text: str, unlimited: str, size: int) -> int:
    """Base pages of a size in bytes, rounded down to the huge page; `unlimited` is the word for no limit."""
    pages = size // PAGE_SIZE
    return parse_pages(text, unlimited, css.kernel) // pages * pages


def _dfl_limit(name: str, key: str, size: int) -> CFType:
    def show(css: Hugetlb) -> str:
        pages = css.limit(key, size)
        return "max\n" if pages == css.limit("", size) else f"{pages * PAGE_SIZE}\n"

    def write(css: Hugetlb, text: str) -> None:
        css.set_limit(key, _parse(css, text, "max", size))

    return CFType(name, Where.CHILD, show=show, write=write)


def _legacy_limit(name: str, key: str, size: int) -> CFType:
    def read(css: Hugetlb) -> int:
        return css.limit(key, size) * PAGE_SIZE

    def write(css: Hugetlb, text: str) -> None:
        pages = _parse(css, text, "-1", size)
        if css.parent is None:
            raise refuse(EINVAL)
        css.set_limit(key, pages)

    return CFType(name, read_u64=read, write=write)


def _dfl_rows(label: str, size: int) -> tuple[CFType, ...]:
    name = f"hugetlb.{label}"
    return (
        _dfl_limit(f"{name}.max", label, size),
        _dfl_limit(f"{name}.rsvd.max", f"{label}.rsvd", size),
        CFType(f"{name}.current", Where.CHILD, read_u64=_read_zero),
        CFType(f"{name}.rsvd.current", Where.CHILD, read_u64=_read_zero),
        CFType(f"{name}.events", Where.CHILD, show=_show_events),
        CFType(f"{name}.events.local", Where.CHILD, show=_show_events),
        CFType(f"{name}.numa_stat", Where.CHILD, since=(6, 1), show=_show_numa_stat),
    )


def _legacy_rows(label: str, size: int) -> tuple[CFType, ...]:
    name = f"hugetlb.{label}"
    rows: list[CFType] = []
    for kind, key in (("", label), ("rsvd.", f"{label}.rsvd")):
        rows += [
            _legacy_limit(f"{name}.{kind}limit_in_bytes", key, size),
            CFType(f"{name}.{kind}usage_in_bytes", read_u64=_read_zero),
            CFType(f"{name}.{kind}max_usage_in_bytes", read_u64=_read_zero, write=_write_reset),
            CFType(f"{name}.{kind}failcnt", read_u64=_read_zero, write=_write_reset),
        ]
    return (*rows, CFType(f"{name}.numa_stat", since=(6, 1), show=_show_numa_stat))


HUGETLB = Controller(
    "hugetlb",
    Hugetlb,
    dfl=tuple(replace(row, huge_page=size) for label, size in _SIZES.items() for row in _dfl_rows(label, size)),
    legacy=tuple(replace(row, huge_page=size) for label, size in _SIZES.items() for row in _legacy_rows(label, size)),
    config="CGROUP_HUGETLB",
)
