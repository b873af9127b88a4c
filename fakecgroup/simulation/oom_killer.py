"""Chooses whom to kill where a cgroup, or the machine, is out of memory (mm/oom_kill.c), and counts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from ..controllers.memory.css import Memory
from ..core.cftype import PAGE_SIZE
from ..effects.oom import IMMUNE, badness, choose
from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..machine.machine import Machine

UNKILLABLE = (1, 2)
"""init, kthreadd."""


class Killable(Protocol):
    """A process: its pages resident, in swap and of page tables."""

    @property
    def rss(self) -> int: ...
    @property
    def swap(self) -> int: ...
    @property
    def tables(self) -> int: ...
    @property
    def oom_score_adj(self) -> int: ...


class Candidate(NamedTuple):
    """A `Killable` as it was when it was looked at."""

    rss: int = 0
    swap: int = 0
    tables: int = 0
    oom_score_adj: int = 0


class OomKiller:
    """Chooses victims. `find` gives a process by pid, None for one that is gone or never killed."""

    def __init__(self, machine: Machine, find: Callable[[int], Killable | None]) -> None:
        self._find = find
        self._memory = machine.memory // PAGE_SIZE
        self._swap = machine.swap // PAGE_SIZE

    def victims(self, top: Cgroup) -> list[int]:
        """Whom to kill in a cgroup that is out of memory, in the root for the machine; none if all are immune.

        With memory.oom.group the victim's group dies with it. The kills are counted in memory.events, that of the
        victim of a group twice, as the kernel does.
        """
        css = top.effective_css("memory")
        limit = self._limit(css if isinstance(css, Memory) and css.parent is not None else None)
        chosen = choose(((pid, cgroup), _points(one, limit)) for pid, cgroup, one in self._in_order(top))
        if chosen is None:
            return []
        victim, cgroup = chosen
        _count(cgroup)
        group = _group(cgroup, top)
        if group is None:
            return [victim]
        group.note_event("oom_group_kill")
        members = [(pid, home) for pid, home, one in self._in_order(group.cgroup) if one.oom_score_adj != IMMUNE]
        for _, home in members:
            _count(home)
        return [pid for pid, _ in members]

    def _in_order(self, top: Cgroup) -> Iterator[tuple[int, Cgroup, Killable]]:
        """Processes as the kernel looks at them: a cgroup before those below it, as cgroup.procs lists them."""
        stack = [top]
        while stack:
            cgroup = stack.pop()
            hierarchy = cgroup.hierarchy
            tasks = hierarchy.leaders(cgroup) if hierarchy.dfl else [t for t, p in hierarchy.members(cgroup) if t == p]
            for pid in tasks:
                one = self._find(pid)
                if one is not None:
                    yield pid, cgroup, one
            stack.extend(child for child in reversed(cgroup.children.values()) if child.populated)

    def _limit(self, css: Memory | None) -> int:
        """Pages that may be used where it is out of memory (mem_cgroup_get_max); all there are on the machine."""
        if css is None:
            return self._memory + self._swap
        if css.on_dfl:
            return css.max + min(css.swap_max, self._swap)
        return css.max + (min(css.memsw_max - css.max, self._swap) if css.swappiness else 0)


def _points(one: Killable, limit: int) -> int | None:
    return badness(rss=one.rss, swap=one.swap, tables=one.tables, adj=one.oom_score_adj, limit=limit)


def _count(cgroup: Cgroup) -> None:
    """Count a kill in the cgroup of the victim."""
    css = cgroup.effective_css("memory")
    if isinstance(css, Memory):
        css.note_event("oom_kill")


def _group(cgroup: Cgroup, top: Cgroup) -> Memory | None:
    """The highest cgroup with memory.oom.group from here up to one that is out of memory (mem_cgroup_get_oom_group)."""
    found = None
    for above in cgroup.lineage():
        css = above.csses.get("memory")
        if isinstance(css, Memory) and css.oom_group and css.on_dfl:
            found = css
        if above is top:
            break
    return found
