"""Kills simulated processes where a cgroup, or the machine, is out of memory (mm/oom_kill.c)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..controllers.memory.css import Memory
from ..core.cftype import PAGE_SIZE
from ..effects.oom import IMMUNE, badness, choose

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..machine.machine import Machine
    from .holding import Holding


class OomKiller:
    """Chooses victims among the processes that hold memory, by pid."""

    def __init__(self, machine: Machine, holdings: Mapping[int, Holding]) -> None:
        self._holdings = holdings
        self._memory = machine.memory // PAGE_SIZE
        self._swap = machine.swap // PAGE_SIZE

    def victims(self, top: Cgroup) -> list[Holding]:
        """Whom to kill in a cgroup that is out of memory, in the root for the machine; none if all are immune.

        With memory.oom.group the victim's group dies with it. The kills are counted in memory.events, that of the
        victim of a group twice, as the kernel does.
        """
        css = top.effective_css("memory")
        limit = self._limit(css if isinstance(css, Memory) and css.parent is not None else None)
        chosen = choose((one, self._points(one, limit)) for one in self._in_order(top))
        if chosen is None:
            return []
        self._count(chosen)
        group = _group(chosen.cgroup, top)
        if group is None:
            return [chosen]
        group.note_event("oom_group_kill")
        members = [one for one in self._in_order(group.cgroup) if one.process.workload.oom_score_adj != IMMUNE]
        for one in members:
            self._count(one)
        return members

    def _in_order(self, top: Cgroup) -> Iterator[Holding]:
        """Processes as the kernel looks at them: a cgroup before those below it, as cgroup.procs lists them."""
        homes = {above for one in self._holdings.values() for above in one.cgroup.lineage()}
        stack = [top]
        while stack:
            cgroup = stack.pop()
            hierarchy = cgroup.hierarchy
            tasks = hierarchy.leaders(cgroup) if hierarchy.dfl else [tid for tid, _ in hierarchy.members(cgroup)]
            for pid in tasks:
                if pid in self._holdings:
                    yield self._holdings[pid]
            stack.extend(child for child in reversed(cgroup.children.values()) if child in homes)

    @staticmethod
    def _points(one: Holding, limit: int) -> int | None:
        return badness(rss=one.anon, swap=one.swap, adj=one.process.workload.oom_score_adj, limit=limit)

    def _limit(self, css: Memory | None) -> int:
        """Pages that may be used where it is out of memory (mem_cgroup_get_max); all there are on the machine."""
        if css is None:
            return self._memory + self._swap
        if css.on_dfl:
            return css.max + min(css.swap_max, self._swap)
        return css.max + (min(css.memsw_max - css.max, self._swap) if css.swappiness else 0)

    @staticmethod
    def _count(victim: Holding) -> None:
        css = victim.cgroup.effective_css("memory")
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
