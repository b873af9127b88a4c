"""Sets of tasks that are in the same cgroup of every hierarchy (the kernel's css_set), and the order of task lists.

A list of the unified hierarchy goes through the sets of its cgroup, oldest first, and through the tasks of each in
order of arrival (css_task_iter_advance). v1 sorts its lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from .place import Place, Places
    from .processes import Processes
    from .tid import Tid


class CssSet:
    """The tasks in the same `places`.

    The set of threads in a threaded cgroup has a `domain`, the set of the domain cgroup; `threaded` are a domain's sets
    of such threads, oldest first. A leader that has ended is `dying` until it is reaped.
    """

    __slots__ = ("domain", "dying", "places", "tasks", "threaded")

    places: Places
    domain: CssSet | None
    tasks: dict[Tid, Tid]  # tid -> tgid, in order of arrival
    dying: dict[Tid, Tid]
    threaded: dict[CssSet, None]

    def __init__(self, places: Places, domain: CssSet | None) -> None:
        self.places = places
        self.domain = domain
        self.tasks = {}
        self.dying = {}
        self.threaded = {}

    @property
    def used(self) -> bool:
        return bool(self.tasks or self.dying or self.threaded)


class CssSets:
    """The sets of one kernel. Tasks of the initial set, those in every root, are not stored."""

    back: dict[Tid, int]  # task that came back to every root -> the newest tid at that time
    _of: dict[Tid, CssSet]  # tid -> its set
    _found: dict[Places, CssSet]  # the set for a task that comes to these places
    _linked: dict[Place, dict[CssSet, None]]  # the sets of each cgroup, oldest first
    _initial: CssSet

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._of = {}
        self._found = {}
        self._linked = {}
        self._initial = CssSet((), None)
        self.back = {}

    @property
    def count(self) -> int:
        """The number of sets beside the initial one."""
        return len({one for linked in self._linked.values() for one in linked})

    # -- where tasks are --------------------------------------------------------------------------

    def entered(self, tid: int, tgid: int, places: Places) -> None:
        """Put a task that has started or moved into the set for these places. In its old set it keeps its position."""
        before, after = self._of.get(tid), self._find(places)
        if (before or self._initial) is after:
            return
        if after is self._initial:
            del self._of[tid]
            self.back[tid] = self._processes.newest()
        else:
            self._of[tid] = after
            after.tasks[tid] = tgid
            self.back.pop(tid, None)
        if before is not None:
            self._leave(tid, before)

    def exited(self, tid: int) -> None:
        """Note that a task is dead. A leader stays listed while its process has threads."""
        self.back.pop(tid, None)
        held = self._of.get(tid)
        if held is None or tid not in held.tasks:
            return
        if held.tasks[tid] != tid:
            self.freed(tid)
        else:
            held.dying[tid] = held.tasks.pop(tid)

    def freed(self, tid: int) -> None:
        """Note that a dead task has been waited for."""
        held = self._of.pop(tid, None)
        if held is not None:
            self._leave(tid, held)

    def grouped(self, tids: Iterable[int]) -> list[int]:
        """Tasks in the order in which the kernel moves them together: set by set (cgroup_migrate_execute)."""
        groups: dict[CssSet, list[int]] = {}
        for tid in tids:
            groups.setdefault(self._of.get(tid, self._initial), []).append(tid)
        return [tid for group in groups.values() for tid in group]

    def remake(self, cgroups: Iterable[Place]) -> None:
        """Move the tasks here and below to new sets, parents first: the controllers of these cgroups have changed
        (cgroup_update_dfl_csses).
        """
        stack = [*cgroups][::-1]
        old = []
        while stack:
            cgroup = stack.pop()
            old += list(self._linked.get(cgroup, ()))
            stack += [*cgroup.children.values()][::-1]
        for one in old:
            if self._found.get(one.places) is one:
                del self._found[one.places]
        for one in old:
            if one.tasks:
                new = self._find(one.places)
                new.tasks.update(one.tasks)
                self._of.update(dict.fromkeys(one.tasks, new))
                one.tasks.clear()
        for one in old:
            self._drop_unused(one)

    # -- lists ------------------------------------------------------------------------------------

    def threads(self, cgroup: Place, members: Collection[int]) -> list[int]:
        """The live threads of a cgroup, its `members`, in the order of lists; the initial set keeps its own."""
        initial = [tid for tid in members if tid not in self._of]
        return [*initial, *(tid for one in self._linked.get(cgroup, ()) for tid in one.tasks if tid in members)]

    def leaders(self, cgroup: Place, initial: Sequence[int], members: Collection[int]) -> list[int]:
        """The leaders of the processes in a cgroup and in the threaded cgroups of its domain.

        `members` are its own live threads, `initial` the leaders in the initial set.
        """
        found = [*initial]
        for one in (*((self._initial,) if cgroup.parent is None else ()), *self._linked.get(cgroup, ())):
            found += (tgid for tgid in self._leaders(one) if tgid in members or tgid in one.dying)
            for threads in one.threaded:
                found += self._leaders(threads)
        return found

    def is_initial(self, tid: int) -> bool:
        """True if a task is in every root."""
        return tid not in self._of

    def set_of(self, tid: int) -> CssSet:
        return self._of.get(tid, self._initial)

    def _leaders(self, one: CssSet) -> Iterator[int]:
        yield from (tid for tid, tgid in one.tasks.items() if tid == tgid)
        yield from (tgid for tgid in one.dying if self._processes.threads(tgid))

    # -- sets -------------------------------------------------------------------------------------

    def _find(self, places: Places) -> CssSet:
        """The set for these places, made if there is none (find_css_set)."""
        known = self._found.get(places)
        if known is not None:
            return known
        if all(place.parent is None for place in places):
            return self._initial
        made = self._found[places] = CssSet(places, None)
        for place in places:
            self._linked.setdefault(place, {})[made] = None
        if places[-1].domain is not None:
            made.domain = self._find((*places[:-1], places[-1].domain))
            made.domain.threaded[made] = None
        return made

    def _leave(self, tid: int, one: CssSet) -> None:
        one.tasks.pop(tid, None)
        one.dying.pop(tid, None)
        self._drop_unused(one)

    def _drop_unused(self, one: CssSet) -> None:
        """Remove a set that nothing refers to (put_css_set_locked)."""
        if one.used or one is self._initial:
            return
        if self._found.get(one.places) is one:
            del self._found[one.places]
        for place in one.places:
            linked = self._linked.get(place, {})
            if linked.pop(one, self) is None and not linked:
                del self._linked[place]
        if one.domain is not None and one.domain.threaded.pop(one, self) is None:
            self._drop_unused(one.domain)
