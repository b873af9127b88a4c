"""Which pages reclaim finds: a model, not measured, as real kernels do not agree with each other.

Cold file pages are dropped first, then anonymous pages go to swap. Both are taken from cgroups by how much of them
can be reclaimed beyond their protection; from protected ones only where nothing else is found, and never below
memory.min. On v1 the machine takes from those over their soft limit first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ..controllers.memory.css import PAGE_COUNTER_MAX, Memory
from ..core.cftype import PAGE_SIZE
from ..effects.protection import effective_protection

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup

#: Bytes per second that reclaim frees by dropping pages of files, and by writing to swap.
FILE_RATE, SWAP_RATE = 1 << 30, 200 << 20


class Reclaimable(Protocol):
    """The pages of a process: `cold` is the part of `file` that can be dropped, `swap` what was moved out of `anon`."""

    anon: int
    swap: int
    file: int
    cold: int


_Held = TypeVar("_Held", bound=Reclaimable)


@dataclass(slots=True)
class Reclaimed(Generic[_Held]):
    """Pages that reclaim has freed, from whom. `out` has those in swap by the cgroup that had them."""

    file: int = 0
    swap: int = 0
    out: dict[Cgroup, int] = field(default_factory=dict)
    holdings: dict[_Held, None] = field(default_factory=dict)

    @property
    def pages(self) -> int:
        return self.file + self.swap

    @property
    def time(self) -> int:
        """ns that it took."""
        return (self.file * PAGE_SIZE * 10**9) // FILE_RATE + (self.swap * PAGE_SIZE * 10**9) // SWAP_RATE


@dataclass(slots=True)
class _Source(Generic[_Held]):
    """A cgroup with processes: pages of it that are in use and protected, and those that can be taken."""

    cgroup: Cgroup
    holdings: Sequence[_Held]
    usage: int
    low: int
    min: int

    def unprotected(self, protection: int) -> int:
        return max(0, self.usage - protection)


class Reclaim(Generic[_Held]):
    """Reclaims pages of processes on a machine with `swap` pages of swap."""

    def __init__(self, swap: int, *, recursive: bool) -> None:
        self._swap = swap
        self._recursive = recursive  # the mount option memory_recursiveprot

    def free(
        self, cgroup: Cgroup, homes: Mapping[Cgroup, Sequence[_Held]], pages: int, *, may_swap: bool
    ) -> Reclaimed[_Held]:
        """Take pages from processes in a cgroup and below. `homes` has all that there are, by where they are."""
        got: Reclaimed[_Held] = Reclaimed()
        room = max(0, self._swap - sum(one.swap for its in homes.values() for one in its)) if may_swap else 0
        sources = self._sources(cgroup, homes)
        if cgroup.parent is None and not cgroup.hierarchy.dfl:
            for source, over in _over_soft_limit(sources):
                self._take([source], [min(over, pages - got.pages)], got, room)
        for protections in ([max(one.low, one.min) for one in sources], [one.min for one in sources]):
            left = pages - got.pages
            if left <= 0:
                break
            most = [one.unprotected(its) for one, its in zip(sources, protections, strict=True)]
            can = [min(most[n], self._can(one, got, room - got.swap)) for n, one in enumerate(sources)]
            parts = _parts(left, can)
            if sum(can) < left:
                self._note_swap_events(sources, got, room - got.swap)
            before = [one.usage for one in sources]
            self._take(sources, parts, got, room)
            for source, was in zip(sources, before, strict=True):
                css = source.cgroup.effective_css("memory")
                if source.low and source.usage < was and source.usage < source.low and isinstance(css, Memory):
                    css.note_event("low")
        return got

    def _sources(self, top: Cgroup, homes: Mapping[Cgroup, Sequence[_Held]]) -> list[_Source[_Held]]:
        protected = _Protections(top, recursive=self._recursive)
        return [
            _Source(cgroup, its, _usage(cgroup), protected.of(cgroup, "low"), protected.of(cgroup, "min"))
            for cgroup in (top, *top.descendants())
            if (its := homes.get(cgroup))
        ]

    def _can(self, source: _Source[_Held], got: Reclaimed[_Held], room: int) -> int:
        """Pages of a cgroup's processes that can be dropped or swapped out."""
        return sum(one.cold for one in source.holdings) + min(
            sum(one.anon for one in source.holdings), max(0, room), _swap_room(source.cgroup, got.out)
        )

    def _note_swap_events(self, sources: list[_Source[_Held]], got: Reclaimed[_Held], room: int) -> None:
        """Count that swap ran out in the middle. Newer kernels look before they try (seen on 5.10, 6.1, 6.12, 7.2)."""
        for source in sources:
            css = source.cgroup.effective_css("memory")
            if not isinstance(css, Memory) or not css.on_dfl:
                continue
            anon, most = sum(one.anon for one in source.holdings), _swap_room(source.cgroup, got.out)
            if 0 < most < min(anon, room) and not css.kernel.at_least(6, 12):
                css.note_swap_event("max")
                css.note_swap_event("fail")
            elif 0 < room < min(anon, most) and not css.kernel.at_least(7, 2):
                css.note_swap_event("fail")

    def _take(self, sources: list[_Source[_Held]], parts: list[int], got: Reclaimed[_Held], room: int) -> None:
        for source, part in zip(sources, parts, strict=True):
            drop = min(part, sum(one.cold for one in source.holdings))
            for holding, pages in zip(
                source.holdings, _parts(drop, [one.cold for one in source.holdings]), strict=True
            ):
                holding.file -= pages
                holding.cold -= pages
                got.file += pages
                if pages:
                    got.holdings[holding] = None
            out = min(part - drop, room - got.swap, _swap_room(source.cgroup, got.out))
            out = max(0, min(out, sum(one.anon for one in source.holdings)))
            for holding, pages in zip(source.holdings, _parts(out, [one.anon for one in source.holdings]), strict=True):
                holding.anon -= pages
                holding.swap += pages
                got.swap += pages
                if pages:
                    got.holdings[holding] = None
            source.usage -= drop + out
            if out:
                got.out[source.cgroup] = got.out.get(source.cgroup, 0) + out
            if drop + out:
                for above in source.cgroup.lineage():
                    above.reclaimed += drop + out


class _Protections:
    """The effective protections below a cgroup that is reclaimed (mem_cgroup_calculate_protection)."""

    def __init__(self, top: Cgroup, *, recursive: bool) -> None:
        self._top = top
        self._recursive = recursive
        self._known: dict[tuple[Cgroup, str], int] = {}

    def of(self, cgroup: Cgroup, name: str) -> int:
        """Pages of a cgroup that memory.low or memory.min protects."""
        css = cgroup.csses.get("memory")
        if cgroup is self._top or cgroup.parent is None or not cgroup.hierarchy.dfl:
            return 0
        if not isinstance(css, Memory):
            return self.of(cgroup.parent, name)
        known = self._known.get((cgroup, name))
        if known is None:
            known = self._known[cgroup, name] = self._effective(cgroup, css, name)
        return known

    def _effective(self, cgroup: Cgroup, css: Memory, name: str) -> int:
        setting: int = getattr(css, name)
        parent = cgroup.parent
        assert parent is not None
        if parent is self._top:
            return setting
        siblings = [child.csses.get("memory") for child in parent.children.values()]
        return effective_protection(
            usage=css.pages,
            setting=setting,
            parent_usage=_usage(parent),
            parent_effective=self.of(parent, name),
            siblings_protected=sum(min(one.pages, getattr(one, name)) for one in siblings if isinstance(one, Memory)),
            recursive=self._recursive,
        )


def _usage(cgroup: Cgroup) -> int:
    css = cgroup.csses.get("memory")
    return css.pages if isinstance(css, Memory) else cgroup.memory.total // PAGE_SIZE


def _swap_room(cgroup: Cgroup, out: Mapping[Cgroup, int]) -> int:
    """Pages that a cgroup may still have in swap, after those that have just gone `out`."""
    css = cgroup.effective_css("memory")
    if not isinstance(css, Memory):
        return PAGE_COUNTER_MAX
    if not css.on_dfl:
        return PAGE_COUNTER_MAX if css.swappiness else 0
    room = PAGE_COUNTER_MAX
    for above in css.counters():
        gone = sum(pages for source, pages in out.items() if above.cgroup in source.lineage())
        room = min(room, above.swap_max - above.swap_pages - gone)
    return max(0, room)


def _over_soft_limit(sources: list[_Source[_Held]]) -> Iterator[tuple[_Source[_Held], int]]:
    """The cgroups over their soft limit with the pages that they are over, the greatest first."""
    over = []
    for source in sources:
        css = source.cgroup.effective_css("memory")
        if isinstance(css, Memory) and css.pages > css.soft_limit:
            over.append((source, css.pages - css.soft_limit))
    yield from sorted(over, key=lambda pair: -pair[1])


def _parts(whole: int, most: list[int]) -> list[int]:
    """Divide a whole among claims in proportion, in full numbers; the first get what rounding leaves."""
    total = sum(most)
    if total <= whole:
        return most
    parts = [whole * one // total for one in most] if total else [0] * len(most)
    left = whole - sum(parts)
    for number, one in enumerate(most):
        more = min(left, one - parts[number])
        parts[number] += more
        left -= more
    return parts
