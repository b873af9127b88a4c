"""What a kernel reclaims from real processes, by the policy of simulated ones: it is taken from what the files show."""

from __future__ import annotations

from dataclasses import dataclass

from fakecgroup import Processes
from fakecgroup.controllers.memory.css import Memory
from fakecgroup.core.cftype import PAGE_SIZE
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.effects.charge import charge_batch
from fakecgroup.effects.reclaim_rounds import rounds_of_reclaim
from fakecgroup.simulation.reclaim import Reclaim, Reclaimed
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.host.taken_pages import TakenPages


@dataclass(slots=True, eq=False)
class _Pages:
    """The pages of a process that reclaim may take; `before` is what it had in swap and of files.

    `anon` has those of shared memory too, which go to swap as well.
    """

    tgid: int
    anon: int
    swap: int
    file: int
    cold: int
    before: tuple[int, int]


class Paging:
    """Reclaims pages of the real processes in a hierarchy with the memory controller. The model's lock is held."""

    def __init__(self, hierarchy: Hierarchy, processes: Processes, taken: TakenPages) -> None:
        self._hierarchy = hierarchy
        self._processes = processes
        self._taken = taken
        self._charges = hierarchy.membership.memory
        self._swap = hierarchy.machine.swap // PAGE_SIZE
        self._reclaim: Reclaim[_Pages] = Reclaim(self._swap, recursive="memory_recursiveprot" in hierarchy.options)
        self._version = hierarchy.personality.version
        self._batch = charge_batch(self._version)

    def fit(self, css: Memory) -> None:
        """Reclaims what a cgroup has over its limits at the last count, and counts it as a kernel does.

        Pages of files are not counted: others may have been charged for them.
        """
        swapped = self._shrink(css, css.high)
        if swapped:
            css.note_event("high", -(-swapped // self._batch))
        rounds = rounds_of_reclaim(self._version, swapped=self._shrink(css, css.max))
        if rounds:
            css.note_event("max", rounds)
            css.note_failure("memory.", rounds)

    def shrink(self, css: Memory) -> None:
        """Reclaims what a cgroup has over a limit that was written, which counts nothing (memory_max_write)."""
        self._shrink(css, css.high)
        self._shrink(css, css.max)

    def _shrink(self, css: Memory, limit: int) -> int:
        """Reclaims what is over a limit in pages. Returns how many went to swap."""
        over = css.pages - limit
        if over <= 0:
            return 0
        if css.on_dfl:
            return self.take(css.cgroup, over).swap
        room = max(0, min(above.memsw_max - above.swap_pages - above.max for above in css.counters()))
        dropped = self.take(css.cgroup, over, may_swap=False).pages
        return self.take(css.cgroup, min(over - dropped, room)).swap

    def take(self, cgroup: Cgroup, pages: int, *, may_swap: bool = True) -> Reclaimed[_Pages]:
        """Reclaims pages in a cgroup and below."""
        got = self._reclaim.free(cgroup, self._homes(), pages, may_swap=may_swap and self._swap > 0)
        for one in got.holdings:
            swap, file = one.before
            image = self._processes.memory(one.tgid).image
            swapped, dropped = (one.swap - swap) * PAGE_SIZE, (file - one.file) * PAGE_SIZE
            self._taken.take(one.tgid, image, swapped=swapped, dropped=dropped)
            self._charges.look(one.tgid)
        return got

    def refuse(self, tgid: int, css: Memory) -> None:
        """Takes from a process what its cgroup has over memory.max: a kernel would not have given it."""
        over = css.pages - css.max
        if over > 0:
            self._taken.take(tgid, self._processes.memory(tgid).image, refused=over * PAGE_SIZE)
            self._charges.look(tgid)

    def give(self, tgid: int) -> None:
        """Gives a process what it was refused."""
        taken = self._taken.of(tgid)
        if taken is not None and taken.refused:
            self._taken.give(tgid)
            self._charges.look(tgid)

    def _homes(self) -> dict[Cgroup, list[_Pages]]:
        """The pages of real processes, by the cgroup that they are in and charged to."""
        homes: dict[Cgroup, list[_Pages]] = {}
        for cgroup in self._hierarchy.root.descendants():
            for tid, tgid in cgroup.tasks.items():
                if tid == tgid and not is_simulated(tgid):
                    homes.setdefault(cgroup, []).append(self._pages(tgid))
        return homes

    def _pages(self, tgid: int) -> _Pages:
        use = self._charges.charged_in(tgid)
        anon, file = max(0, use.anon + use.shmem - use.locked) // PAGE_SIZE, use.file // PAGE_SIZE
        cold = max(0, use.file - max(0, use.locked - use.anon - use.shmem)) // PAGE_SIZE
        swap = use.swap // PAGE_SIZE
        return _Pages(tgid, anon, swap, file, cold, (swap, file))
