"""The hugetlb controller (mm/hugetlb_cgroup.c), for the huge pages of x86-64 and arm64.

Amounts are kept in base pages, as multiples of the huge page. Each size has a counter of pages and one of reservations,
by the middle of their files' names: `2MB`, `2MB.rsvd`. A limit refuses what simulated processes want. What real ones
have is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from errno import EBUSY, EINVAL
from types import MappingProxyType

from ..core.cftype import PAGE_SIZE, CFType, Where, shown_number
from ..core.css import Controller, Css
from ..refuse import refuse
from .memory.css import PAGE_COUNTER_MAX, parse_pages

SIZES = {"2MB": 2 << 20, "1GB": 1 << 30, "32MB": 32 << 20, "64KB": 64 << 10}  # bytes


_NOTHING: Mapping[str, int] = MappingProxyType({})


class Hugetlb(Css):
    """`limits`, `used` here and below, the `peak` of it, refused charges; limits never set are absent.

    Those are not rounded to huge pages from 6.16 to 7.0, so they do not show as `max` (seen on Debian's kernels).
    """

    limits: dict[str, int] | None = None
    used: Mapping[str, int] = _NOTHING
    used_here: Mapping[str, int] = _NOTHING
    peak: Mapping[str, int] = _NOTHING
    failcnt: Mapping[str, int] = _NOTHING
    events: Mapping[str, int] = _NOTHING  # by size, for pages and reservations together
    events_local: Mapping[str, int] = _NOTHING

    def set_limit(self, name: str, pages: int) -> None:
        """Set a limit. Raises EBUSY below the usage (page_counter_set_max)."""
        if pages < self.used.get(name, 0):
            raise refuse(EBUSY)
        self.limits = {**(self.limits or {}), name: pages}

    def limit(self, name: str, size: int) -> int:
        kernel = self.kernel
        rounded = not kernel.at_least(6, 16) or kernel.at_least(7, 2)
        return (self.limits or {}).get(name, unlimited(size) if rounded else PAGE_COUNTER_MAX)

    def lineage(self) -> Iterator[Hugetlb]:
        """This css and those above it."""
        css: Css | None = self
        while isinstance(css, Hugetlb):
            yield css
            css = css.parent

    def charge(self, name: str, size: int, pages: int) -> bool:
        """Charge base pages. False over a limit, which counts the refusal (hugetlb_cgroup_charge_cgroup)."""
        for css in self.lineage():
            if css.used.get(name, 0) + pages > css.limit(name, size):
                css.failcnt = _plus(css.failcnt, name, 1)
                self._note_max(name.partition(".")[0])
                return False
            css._note_peak(name, pages)
        self.used_here = _plus(self.used_here, name, pages)
        for css in self.lineage():
            css.used = _plus(css.used, name, pages)
        return True

    def _note_peak(self, name: str, more: int) -> None:
        """Note a charge before those above have taken it: a refusal there leaves the peak (page_counter_try_charge)."""
        self.peak = {**self.peak, name: max(self.peak.get(name, 0), self.used.get(name, 0) + more)}

    def count(self, size: int, more: int, *, reserved: bool) -> None:
        """Count what real processes have, in bytes, whatever the limits are (`HugePageCounter`)."""
        name = f"{label_of(size)}.rsvd" if reserved else label_of(size)
        pages = more // PAGE_SIZE
        self.used_here = _plus(self.used_here, name, pages)
        for css in self.lineage():
            css._note_peak(name, pages)
            css.used = _plus(css.used, name, pages)

    def uncharge(self, name: str, pages: int) -> None:
        """Free base pages that were charged here."""
        self.used_here = _plus(self.used_here, name, -pages)
        for css in self.lineage():
            css.used = _plus(css.used, name, -pages)

    def _note_max(self, label: str) -> None:
        """Count a refusal in the events of the group of the task, not that of the limit, and above (hugetlb_event)."""
        self.events_local = _plus(self.events_local, label, 1)
        self.cgroup.notify(f"hugetlb.{label}.events.local")
        for css in self.lineage():
            css.events = _plus(css.events, label, 1)
            css.cgroup.notify(f"hugetlb.{label}.events")


def unlimited(size: int) -> int:
    """No limit, in base pages, as a multiple of a huge page."""
    return PAGE_COUNTER_MAX // (size // PAGE_SIZE) * (size // PAGE_SIZE)


def _plus(amounts: Mapping[str, int], name: str, more: int) -> Mapping[str, int]:
    return {**amounts, name: amounts.get(name, 0) + more}


def label_of(size: int) -> str:
    """How file names call huge pages of a size in bytes: `2MB`."""
    return next(label for label, its in SIZES.items() if its == size)


def _reader(attribute: str, name: str, unit: int = PAGE_SIZE) -> Callable[[Hugetlb], int]:
    def read(css: Hugetlb) -> int:
        css.cgroup.hierarchy.membership.count_huge_pages(css.cgroup)
        amounts: Mapping[str, int] = getattr(css, attribute)
        return amounts.get(name, 0) * unit

    return read


def _peak_reset(name: str) -> Callable[[Hugetlb, str], None]:
    def reset(css: Hugetlb, text: str) -> None:
        """Take any text, which sets the peak to the usage now (page_counter_reset_watermark)."""
        css.peak = {**css.peak, name: css.used.get(name, 0)}

    return reset


def _failcnt_reset(name: str) -> Callable[[Hugetlb, str], None]:
    def reset(css: Hugetlb, text: str) -> None:
        """Take any text, which resets the counter."""
        css.failcnt = {**css.failcnt, name: 0}

    return reset


def _events(label: str, attribute: str) -> Callable[[Hugetlb], str]:
    read = _reader(attribute, label, 1)
    return lambda css: f"max {read(css)}\n"


def _numa_stat(label: str) -> Callable[[Hugetlb], str]:
    here, below = _reader("used_here", label), _reader("used", label)

    def show(css: Hugetlb) -> str:
        """Bytes, all on the first node (hugetlb_cgroup_read_numa_stat)."""
        others = "".join(f" N{node}=0" for node in range(1, css.machine.numa_nodes))
        if css.on_dfl:
            return f"total={below(css)} N0={below(css)}{others}\n"
        legacy = f"hierarchical_total={below(css)} N0={below(css)}{others}\n"
        return f"total={here(css)} N0={here(css)}{others}\n{legacy}"

    return show


def _amount(
    name: str,
    attribute: str,
    key: str,
    where: Where = Where.BOTH,
    *,
    write: Callable[[Hugetlb, str], None] | None = None,
    unit: int = PAGE_SIZE,
) -> CFType:
    """A file with an amount, kept in units. A write, if there is one, resets it."""

    def recall(css: Hugetlb, text: str) -> None:
        amounts: Mapping[str, int] = getattr(css, attribute)
        setattr(css, attribute, {**amounts, key: shown_number(text) // unit})

    read = _reader(attribute, key, unit)
    return CFType(name, where, read_u64=read, write=write, again=None, recall=recall, counts=True)


def _parse(css: Hugetlb, text: str, unlimited: str, size: int) -> int:
    """Base pages of a size in bytes, rounded down to the huge page; `unlimited` is the word for no limit."""
    pages = size // PAGE_SIZE
    return parse_pages(text, unlimited, css.kernel) // pages * pages


def _dfl_limit(name: str, key: str, size: int) -> CFType:
    def show(css: Hugetlb) -> str:
        pages = css.limit(key, size)
        return "max\n" if pages == unlimited(size) else f"{pages * PAGE_SIZE}\n"

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

    def recall(css: Hugetlb, text: str) -> None:
        """Have a limit that no write sets: that of a root which was made before its kernel knew huge pages.

        No boot option names their sizes then, and its limit is not a multiple of them (hugetlb_cgroup_init).
        """
        css.limits = {**(css.limits or {}), key: shown_number(text) // PAGE_SIZE}

    return CFType(name, read_u64=read, write=write, recall=recall)


def _dfl_rows(label: str, size: int) -> tuple[CFType, ...]:
    name = f"hugetlb.{label}"
    return (
        _dfl_limit(f"{name}.max", label, size),
        _dfl_limit(f"{name}.rsvd.max", f"{label}.rsvd", size),
        _amount(f"{name}.current", "used", label, Where.CHILD),
        _amount(f"{name}.rsvd.current", "used", f"{label}.rsvd", Where.CHILD),
        CFType(f"{name}.events", Where.CHILD, show=_events(label, "events"), counts=True),
        CFType(f"{name}.events.local", Where.CHILD, show=_events(label, "events_local"), counts=True),
        CFType(f"{name}.numa_stat", Where.CHILD, since=(6, 1), show=_numa_stat(label), counts=True),
    )


def _legacy_rows(label: str, size: int) -> tuple[CFType, ...]:
    name = f"hugetlb.{label}"
    rows: list[CFType] = []
    for kind, key in (("", label), ("rsvd.", f"{label}.rsvd")):
        rows += [
            _legacy_limit(f"{name}.{kind}limit_in_bytes", key, size),
            _amount(f"{name}.{kind}usage_in_bytes", "used", key),
            _amount(f"{name}.{kind}max_usage_in_bytes", "peak", key, write=_peak_reset(key)),
            _amount(f"{name}.{kind}failcnt", "failcnt", key, write=_failcnt_reset(key), unit=1),
        ]
    return (*rows, CFType(f"{name}.numa_stat", since=(6, 1), show=_numa_stat(label), counts=True))


HUGETLB = Controller(
    "hugetlb",
    Hugetlb,
    dfl=tuple(row._replace(huge_page=size) for label, size in SIZES.items() for row in _dfl_rows(label, size)),
    legacy=tuple(row._replace(huge_page=size) for label, size in SIZES.items() for row in _legacy_rows(label, size)),
    config="CGROUP_HUGETLB",
)
