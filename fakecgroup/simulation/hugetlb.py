"""Huge pages as a resource of simulated processes (mm/hugetlb_cgroup.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..controllers.hugetlb import Hugetlb, label_of
from ..core.cftype import PAGE_SIZE
from ..named_tuple import NamedTuple
from ..tasks.tid import Tid

if TYPE_CHECKING:
    from collections.abc import Collection

    from .process import Process
    from .world import World


class _Charge(NamedTuple):
    """Base pages that a process has charged to a css, in use or reserved (`name`)."""

    css: Hugetlb
    name: str
    pages: int


class HugetlbResource:
    """Gives simulated processes huge pages of cgroups; the machine has as many as it takes.

    A process maps what its phase says, which reserves it, and touches it at once. Over a limit of reservations there is
    no mapping (ENOMEM); over a limit of pages a touch is SIGBUS. A process that moves leaves its charges behind.
    """

    name = "hugetlb"
    _charges: dict[Tid, list[_Charge]]

    def __init__(self, world: World) -> None:
        self._world = world
        self._charges = {}

    def gather(self, processes: Collection[Process]) -> None:
        """Free what processes had that are gone."""
        if not self._charges:
            return
        for pid in self._charges.keys() - {process.pid for process in processes}:
            for charge in self._charges.pop(pid):
                charge.css.uncharge(charge.name, charge.pages)

    def begin(self, process: Process) -> None:
        phase = process.phase
        assert phase is not None
        for size, amount in phase.hugetlb or ():
            self._hold(process, size, amount // PAGE_SIZE)

    def resolve(self) -> None:
        """Do nothing: huge pages are there at once."""

    def next(self, until: int) -> int:
        return until

    def advance(self, until: int) -> None:
        """Do nothing: nothing happens between phases."""

    def _hold(self, process: Process, size: int, pages: int) -> None:
        label = label_of(size)
        held = self._held(process.pid, label)
        if pages < held:
            self._free(process.pid, label, held - pages)
            self._free(process.pid, f"{label}.rsvd", held - pages)
        if pages <= held or size not in self._world.machine.huge_pages:
            return
        hierarchy = self._world.hierarchy(self.name)
        css = hierarchy.cgroup_of(process.pid).effective_css(self.name) if hierarchy is not None else None
        if not isinstance(css, Hugetlb):
            return
        if not self._charge(process.pid, css, f"{label}.rsvd", size, pages - held):
            return
        one = size // PAGE_SIZE
        room = min(above.limit(label, size) - above.used.get(label, 0) for above in css.lineage())
        fits = min(pages - held, room // one * one)
        if fits:
            self._charge(process.pid, css, label, size, fits)
        if fits < pages - held and not self._charge(process.pid, css, label, size, one):
            self._world.kill(process.pid)

    def _held(self, pid: int, name: str) -> int:
        return sum(charge.pages for charge in self._charges.get(pid, ()) if charge.name == name)

    def _charge(self, pid: int, css: Hugetlb, name: str, size: int, pages: int) -> bool:
        if not css.charge(name, size, pages):
            return False
        self._charges.setdefault(pid, []).append(_Charge(css, name, pages))
        return True

    def _free(self, pid: int, name: str, pages: int) -> None:
        """Free what was charged last first."""
        kept: list[_Charge] = []
        for charge in reversed(self._charges.get(pid, ())):
            freed = min(pages, charge.pages) if charge.name == name else 0
            if freed:
                charge.css.uncharge(name, freed)
                pages -= freed
            if charge.pages > freed:
                kept.append(charge._replace(pages=charge.pages - freed))
        self._charges[pid] = kept[::-1]
