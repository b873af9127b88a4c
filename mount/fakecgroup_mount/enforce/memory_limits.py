"""Limits on the memory of real processes: who is over one has pages taken, is slowed down, waits, or is killed.

Looks are quick while a cgroup is far from its limit. Near it they are precise: only what is certainly charged counts
(`ledger`). What else may be charged is left alone, and logged once.

A thread looks when a cgroup may be over a limit. So does who reads a file that tells of memory, so that nobody sees
what no kernel would show.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fakecgroup import Kernel
from fakecgroup.controllers.memory.css import PAGE_COUNTER_MAX, Memory
from fakecgroup.core.cftype import PAGE_SIZE
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.core.reclaimer import Reclaimer
from fakecgroup.effects.charge import MAX_BEFORE_KILL, MAX_OF_VICTIM, MAX_RECLAIM_RETRIES, charge_batch
from fakecgroup.effects.high_delay import overage, sleep
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.enforce import footprint
from fakecgroup_mount.enforce.address_spaces import distinct
from fakecgroup_mount.enforce.footprint import Footprint
from fakecgroup_mount.enforce.holds import Holding
from fakecgroup_mount.enforce.ledger import Ledger
from fakecgroup_mount.enforce.limited_cgroup import NONE, LimitedCgroup, limits_above
from fakecgroup_mount.enforce.looks import (
    FASTEST_OF_ALL,
    LONGEST,
    SHORTEST,
    SPARING,
    UNSEEN,
    huge_page,
    margin,
    next_look,
)
from fakecgroup_mount.enforce.paging import Paging
from fakecgroup_mount.enforce.pulse import Pulse
from fakecgroup_mount.enforce.shared_mappings import SharedMappings
from fakecgroup_mount.enforce.stalled import Stalled
from fakecgroup_mount.enforce.victims import Victims
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.processes import HostProcesses

log = Log(__name__)

_HZ = 250
_WHY = "memory"
_STILL = "look"
_SPARING = 3  # times the CPU time of a quick look until the next
_MUCH, _SMALL = 1 << 20, 16 << 20  # bytes
_HOLDING = 0.01  # seconds until a process that waits is held again, if it was asleep
_FITTING = 2.0  # seconds that a write of a limit waits for those that it kills
_PAGING = 0.01  # seconds between two reclaims of a cgroup that grows


class MemoryLimits:
    """Looks at the processes of `kernel`'s limited cgroups. `lock` is the model's.

    `spared` are pids that are never killed, beside init, this process and its children. It is the `Enforcer` and the
    `Reclaimer` of the hierarchy.
    """

    def __init__(
        self,
        kernel: Kernel,
        processes: HostProcesses,
        holding: Holding,
        lock: threading.Lock,
        spared: frozenset[int] = frozenset(),
    ) -> None:
        self._holding = holding
        self._held: dict[int, str] = {}  # who waits, and the start time in /proc/PID/stat
        self._still: set[int] = set()  # who is held while it is looked at
        self._lock = lock
        self._looking = threading.Lock()  # taken after the model's, by who looks
        self._ledger = Ledger()
        self._pulse = Pulse()
        self._mappings = SharedMappings()
        self.idle = True
        """No cgroup has a limit or a process."""
        self._limited: list[LimitedCgroup] = []
        self._near: dict[Cgroup, list[LimitedCgroup]] = {}  # those above and below a cgroup, and its own
        self._seen: dict[int, int] = {}  # pid -> how many of its charges the ledger knows
        self._moved: dict[int, tuple[int, bool]] = {}  # pid -> `_had` at its last move, since they were gathered
        self._writes = -1  # to the tree's files, when the processes were gathered
        self._acting = False  # what is counted meanwhile asks to settle again
        self._victims = Victims(kernel, processes, spared)
        self._stalled = Stalled(kernel, "memory")
        self._simulated: Reclaimer | None = None  # of simulated processes
        self._hierarchy: Hierarchy | None = next((one for one in kernel.hierarchies if one.counts_memory), None)
        if self._hierarchy is not None:
            self._paging = Paging(self._hierarchy, processes, processes.taken)
            self._batch = charge_batch(self._hierarchy.personality.version)

    def _join(self) -> None:
        """Becomes the reclaimer of all processes. That of simulated ones may have come meanwhile."""
        assert self._hierarchy is not None
        membership = self._hierarchy.membership
        if membership.enforcer is not self:  # some may have been moved meanwhile
            membership.enforcer = self
            self._mappings.doubt(self._placed(self._hierarchy))
        if membership.reclaimer is not self:
            self._simulated, membership.reclaimer = membership.reclaimer, self

    # -- who is where, with the lock held ------------------------------------------------------------------

    def gather(self) -> None:
        """Takes limits and processes as they are now. The caller holds the lock."""
        if self._hierarchy is None:
            return
        self._join()
        self._hierarchy.membership.adopt_forked()
        with self._looking:
            self._gather(self._hierarchy)

    def _gather(self, hierarchy: Hierarchy) -> None:
        self._writes = hierarchy.membership.writes
        placed = self._placed(hierarchy)
        self.idle = not placed and not any(  # children of processes are to be seen soon after they start
            isinstance(css := cgroup.csses.get("memory"), Memory) and min(css.max, css.high) != PAGE_COUNTER_MAX
            for cgroup in hierarchy.root.descendants()
        )
        self._ledger.keep(placed)
        self._pulse.keep(placed)
        self._moved = {tgid: had for tgid, had in self._moved.items() if tgid in placed}
        self._seen = {tgid: seen for tgid, seen in self._seen.items() if tgid in placed}
        known = {one.css: one for one in self._limited}
        limited: dict[Memory, LimitedCgroup] = {}
        for tgid, cgroup in sorted(placed.items()):
            self._enter(hierarchy, tgid, cgroup)
            for css in limits_above(cgroup):
                one = limited.get(css)
                if one is None:
                    one = limited[css] = known.get(css) or LimitedCgroup(css)
                    one.take()
                one.tgids.append(tgid)
        for css, one in known.items():
            if css not in limited:
                one.tgids = []  # somebody may be about to look at it
            for tgid in (one.held | one.asleep.keys()) - set(one.tgids):
                self._let_go(one, tgid)
        self._limited = sorted(limited.values(), key=lambda one: -sum(1 for _ in one.css.cgroup.lineage()))
        self._near = {}
        for one in self._limited:
            for cgroup in (*one.css.cgroup.lineage(), *one.css.cgroup.descendants()):
                self._near.setdefault(cgroup, []).append(one)

    @staticmethod
    def _placed(hierarchy: Hierarchy) -> dict[int, Cgroup]:
        """The real processes outside of the root, by pid."""
        return {
            tgid: cgroup
            for cgroup in hierarchy.root.descendants()
            for tid, tgid in cgroup.tasks.items()
            if tid == tgid and not is_simulated(tgid)
        }

    def _enter(self, hierarchy: Hierarchy, tgid: int, cgroup: Cgroup) -> None:
        """Tells the ledger where a process is."""
        places = hierarchy.membership.memory.charged_places(tgid)
        if tgid not in self._ledger:
            parent, image = footprint.parent_and_image(tgid)
            self._ledger.begin(tgid, image, parent if len(places) == 1 else None)
            if tgid not in self._moved and hierarchy.cgroup_of(parent) is not cgroup:  # it may have started elsewhere
                self._mappings.doubt([tgid])
        lineage = [above for above in cgroup.lineage() if above.parent is not None]
        since = places[self._seen.get(tgid, 0) :]
        self._seen[tgid] = len(places)
        stayed = [above for above in lineage if all(above in place.lineage() for place in since)]
        moved = self._moved.pop(tgid, None)
        knows = all(above in stayed and self._ledger.before(tgid, above) is not None for above in lineage)
        anon, exact = moved or ((0, True) if knows else (footprint.anon_bytes(tgid), False))
        self._ledger.place(tgid, lineage, stayed, anon, exact=exact)

    def _let_go(self, one: LimitedCgroup, tgid: int) -> None:
        """Lets a process go on (`_hold_and_let_go`). The lock is held."""
        if tgid in one.held:
            self._paging.give(tgid)
        one.held.discard(tgid)
        one.asleep.pop(tgid, None)
        one.css.waiting = tuple(one.held)
        if not any(tgid in other.held or tgid in other.asleep for other in self._limited):
            self._stalled.end(tgid)

    def release(self) -> None:
        """Lets everybody go on. The caller holds the lock."""
        with self._looking:
            for one in self._limited:
                for tgid in one.held | one.asleep.keys():
                    self._let_go(one, tgid)
        for tgid in self._held:
            self._holding.let_go(tgid, _WHY)
        self._held = {}
        membership = None if self._hierarchy is None else self._hierarchy.membership
        if membership is not None and membership.enforcer is self:
            membership.enforcer, membership.reclaimer = None, self._simulated

    # -- what the files ask, with the lock held ------------------------------------------------------------

    def settle(self, cgroup: Cgroup) -> None:
        """`Enforcer.settle`."""
        if self._acting or self._hierarchy is None:
            return
        if self._hierarchy.membership.writes != self._writes:
            self.gather()
        self._stalled.settle()
        with self._acts():
            for one in self._near.get(cgroup, ()):
                self._settle(one)

    def count_stalls(self) -> None:
        """`Enforcer.count_stalls`."""
        self._stalled.settle()

    def moves(self, tgid: int) -> None:
        """`Enforcer.moves`."""
        self._moved[tgid] = _had(tgid)
        self._mappings.doubt([tgid])

    def begets(self, tgid: int) -> None:
        """`Enforcer.begets`."""
        self._mappings.doubt([tgid])

    @contextmanager
    def _acts(self) -> Iterator[None]:
        self._acting = True
        try:
            yield
        finally:
            self._acting = False

    def _settle(self, one: LimitedCgroup) -> None:
        if time.monotonic() >= one.sure:
            with self._looking:
                if self._judge(one, thorough=True):
                    self._act(one)
        if one.css.pages > min(one.css.max, one.css.high):
            self._paging.fit(one.css)
            for tgid in one.held or (one.sharing if one.forgiven else ()):
                self._paging.refuse(tgid, one.css)

    def fit(self, cgroup: Cgroup) -> None:
        """`Reclaimer.fit`."""
        if self._simulated is not None:
            self._simulated.fit(cgroup)
        assert self._hierarchy is not None
        css = cgroup.csses.get("memory")
        if not isinstance(css, Memory):
            return
        self._hierarchy.membership.count_memory(cgroup)
        if css.pages > min(css.max, css.high):
            self._paging.shrink(css)
            self.gather()
            lowered = [one for one in self._near.get(cgroup, ()) if one.css is css]
            for one in lowered:
                one.had = {tgid: footprint.anon_bytes(tgid) for tgid in one.tgids}
            until, again = time.monotonic() + _FITTING, True
            while again:  # until it fits, or nobody else can be killed (memory_max_write)
                killed = self._victims.killed
                for one in lowered:
                    one.lowered = True
                self.settle(cgroup)
                again = self._victims.killed > killed and self._victims.are_gone(until)
                if again:
                    self.gather()

    def held(self, cgroup: Cgroup) -> int:
        """`Reclaimer.held`."""
        if self._simulated is not None:
            return self._simulated.held(cgroup)
        css = cgroup.csses.get("memory")
        return css.pages if isinstance(css, Memory) else 0

    def reclaim(self, cgroup: Cgroup, pages: int, *, may_swap: bool = True) -> int:
        """`Reclaimer.reclaim`."""
        assert self._hierarchy is not None
        found = 0 if self._simulated is None else self._simulated.reclaim(cgroup, pages, may_swap=may_swap)
        self._hierarchy.membership.count_memory(cgroup)
        return found + self._paging.take(cgroup, pages - found, may_swap=may_swap).pages

    # -- looks, without the lock ---------------------------------------------------------------------------

    def look(self) -> float:
        """Looks at what is due, and acts. Returns the seconds until the next look."""
        self._victims.bury()
        for one in self._limited:
            if one.due > time.monotonic():
                continue
            try:
                with self._looking:
                    to_act, looks = self._judge(one, still=self._holding.unseen), one.looks
                if to_act:
                    with self._lock, self._looking, self._acts():
                        if one.looks == looks:  # nobody has looked, and acted, meanwhile
                            self._act(one)
            finally:
                self._stir()
        left = self._hold_and_let_go()
        soonest = min((one.due for one in self._limited), default=None)
        return left if soonest is None else max(0.0, min(left, soonest - time.monotonic()))

    def _judge(self, one: LimitedCgroup, *, thorough: bool = False, still: bool = False) -> bool:
        """Looks at a cgroup. Returns whether there is something to do. `_looking` is held.

        Unless it is `thorough`, processes that have not run lately are taken to have what they had. Where they are to
        be `still`, those that grow over the limit are held from the precise look until `_stir`.
        """
        began, busy = time.monotonic(), time.thread_time()
        one.looks += 1
        one.certain = None
        one.let_be = margin(one.limit, exact=self._ledger.is_exact(one.tgids))
        one.most = most = self._at_most(one, began, thorough=thorough)
        spent = time.thread_time() - busy
        room = max(one.limit, one.enough) - most
        one.lowered = one.lowered and room < 0
        suspect = most + UNSEEN > min(one.limit, one.high) or bool(one.held)
        if room < 0 or (suspect and one.precise <= began and not (one.rests and one.rested == most)):
            if still and room < 0:
                self._keep_still(one)
            self._look_closely(one, busy)
            room = max(one.limit, one.enough) - most
        slow = bool(one.asleep) or one.charged > one.high
        page = most > one.size and most > one.fitted + one.let_be
        asleep = bool(one.asleep) and one.rests and not one.held  # all that have run lately
        if not asleep:
            room = min(room, max(0, one.high - (most - one.surplus)))  # none while it is slowed down
        if not page:
            room = min(room, max(0, max(one.size, one.fitted) - most))
        due = began + next_look(room)
        if asleep:
            due = min(due, *one.asleep.values())
        elif suspect:
            due = min(due, max(one.precise, began + SHORTEST))
        now = time.monotonic()
        one.due = max(due, now + _SPARING * spent + (time.thread_time() - busy - spent))  # many processes take a while
        if page:
            one.due = max(one.due, now + _PAGING)
        one.sure = 0.0 if one.rests else began + max(0, room) / FASTEST_OF_ALL
        one.to_act = one.certain is not None or slow or page
        return one.to_act

    def _at_most(self, one: LimitedCgroup, now: float, *, thorough: bool) -> int:
        """Bytes that may be charged, by quick looks."""
        cgroup = one.css.cgroup
        total = one.css.usage * PAGE_SIZE
        had, one.had = one.had, {}
        one.rests, one.shmem, one.growing = True, 0, []
        for tgid in one.tgids:
            if (self._ledger.before(tgid, cgroup) or 0) > _MUCH:  # it may execute another program
                self._ledger.renew(tgid, footprint.parent_and_image(tgid)[1])
            found = None if thorough else self._pulse.resting(tgid, now)
            if found is None:
                one.rests = False
                before = self._pulse.last(tgid)
                found = self._pulse.look(tgid, now)
                if before is None or found.anon + found.shmem > before.anon + before.shmem:
                    one.growing.append(tgid)
            one.shmem += found.shmem
            one.had[tgid] = anon = found.anon
            charged_elsewhere = self._ledger.before(tgid, cgroup)
            if charged_elsewhere is not None:
                total += max(0, anon - charged_elsewhere)
                had.setdefault(tgid, charged_elsewhere)
        grown = one.grown if one.to_act else {}
        one.grown = {tgid: grown.get(tgid, 0) + anon - had.get(tgid, anon) for tgid, anon in one.had.items()}
        return total + one.shmem

    def _keep_still(self, one: LimitedCgroup) -> None:
        """Holds those that grow: a precise look takes long enough to touch some 10 MiB meanwhile."""
        for tgid in one.growing:
            start = self._victims.start_of(tgid)
            if start is not None and self._holding.hold(tgid, start, _STILL):
                self._still.add(tgid)

    def _stir(self) -> None:
        """Lets those go on that were held while they were looked at, but for those that have to wait now."""
        waiting = self._waiting() if self._still else ()
        while self._still:
            tgid = self._still.pop()
            if tgid in waiting:
                self._hold(tgid)
            self._holding.let_go(tgid, _STILL)

    def _look_closely(self, one: LimitedCgroup, busy: float) -> None:
        if self._victims.are_dying(one.tgids):
            return
        found = dict(distinct(one.tgids))
        total = self._certain(one, found)
        one.let_be += huge_page() * sum(what.huge for what in found.values())
        enough = one.limit + one.let_be
        if total > enough and len(found) > 1:  # it may be too much by what has changed between looks at two of them
            again = dict(distinct(one.tgids))
            found = {tgid: found[tgid].lesser(again[tgid]) for tgid in found.keys() & again.keys()}
            total = self._certain(one, found)
        one.certain = total
        one.surplus = one.most - total
        one.looked_at_shmem = one.shmem
        room = enough - total
        doubtful = sum(what.share for tgid, what in found.items() if not self._ledger.is_exact([tgid]))
        doubtful = max(doubtful, total + sum(what.shmem for what in found.values()) - self._shared(found))
        if room >= 0 and not one.doubted and doubtful > enough:
            one.doubted = True
            log.warning(
                "%s is left alone: of its memory only %d bytes are certainly charged there", one.css.cgroup.path, total
            )
        now = time.monotonic()
        one.rested = one.most if one.rests else None
        one.enough = one.most + room if room >= 0 else 0  # whoever looks next looks closely, until something is done
        one.precise = now + max(next_look(room), SPARING * (time.thread_time() - busy))

    def _certain(self, one: LimitedCgroup, found: Mapping[int, Footprint]) -> int:
        """Bytes that are certainly charged to a cgroup, by a precise look at its processes."""
        cgroup = one.css.cgroup
        anon = sum(self._ledger.certain(tgid, cgroup, what) for tgid, what in found.items())
        one.sharing = [tgid for tgid, what in found.items() if self._mappings.certain(dict(what.shared))]
        shared = self._shared(found)
        one.forgiven = min(one.forgiven, shared)
        return one.css.usage * PAGE_SIZE + anon + shared - one.forgiven

    def _shared(self, found: Mapping[int, Footprint]) -> int:
        return sum(self._mappings.certain(dict(what.shared)) for what in found.values())

    def _hold_and_let_go(self) -> float:
        """Holds who waits, again if they have begun to run, and lets the others go on. Returns the seconds until the
        next time.
        """
        waiting = self._waiting()
        if not waiting and not self._held:
            return LONGEST if self._holding.settle() else SHORTEST
        with self._holding.guard:
            for tgid in self._held.keys() - waiting:
                del self._held[tgid]
                self._holding.let_go(tgid, _WHY)
            for tgid in waiting:
                self._hold(tgid)
        return _HOLDING if self._holding.settle() else SHORTEST

    def _waiting(self) -> set[int]:
        return {tgid for one in self._limited for tgid in (*one.held, *one.asleep)}

    def _hold(self, tgid: int) -> None:
        """Holds a process that waits. The guard is held."""
        start = self._held.get(tgid) or self._victims.start_of(tgid)
        if start is not None:
            self._held[tgid] = start
            self._holding.hold(tgid, start, _WHY)

    # -- what follows, with both locks held ----------------------------------------------------------------

    def _act(self, one: LimitedCgroup) -> None:
        """Does what the last look asks for."""
        one.to_act = False
        if not one.is_current:
            return
        if one.certain is not None:
            over = one.certain > one.limit + one.let_be
            if one.held and not (over and one.waits_for_room):
                for tgid in list(one.held):
                    self._let_go(one, tgid)
            if over and one.waits_for_room:
                self._let_wait(one)
                one.enough, one.precise = one.most, time.monotonic() + LONGEST / 2
            elif over and not self._out_of_memory(one):
                one.enough, one.precise = NONE, time.monotonic() + LONGEST
        if one.most > one.size and one.most > one.fitted:
            one.fitted = one.most
            one.css.used()
            self._paging.fit(one.css)
        if one.asleep or one.charged > one.high:
            self._slow_down(one)

    def _out_of_memory(self, one: LimitedCgroup) -> bool:
        """Kills whom the OOM killer chooses; False if that is nobody."""
        css = one.css
        if self._have_moved(one):
            self._writes = -1  # they are gathered before the next look
            one.tgids = []
            return True
        victims = self._victims.choose(css.cgroup)
        if not victims:
            return False
        css.used()
        if one.lowered:  # memory_max_write counts no `max`
            css.note_event("oom")
            one.lowered = False
        else:
            grower = max(one.grown, key=one.grown.__getitem__, default=0)
            count = MAX_BEFORE_KILL + (MAX_OF_VICTIM if grower in victims else 0)
            css.note_event("max", count)
            css.note_failure(one.full, count + 1)
            css.note_oom()
            css.note_full()
        self._paging.fit(css)
        for tgid in victims:
            self._victims.kill(tgid)
        if one.sharing and one.certain is not None:
            one.forgiven += max(0, one.certain - one.limit)
        self._paging.refuse(victims[-1], css)
        return True

    def _have_moved(self, one: LimitedCgroup) -> bool:
        """True if some of the processes may have been elsewhere since they were gathered: that is counted anew."""
        members, charges = one.css.cgroup.processes(), one.css.cgroup.hierarchy.membership.memory
        return any(
            tgid not in members or len(charges.charged_places(tgid)) > self._seen.get(tgid, 0) for tgid in one.tgids
        )

    def _let_wait(self, one: LimitedCgroup) -> None:
        """Stops those that have grown, until there is room, or the OOM killer may work (mem_cgroup_oom)."""
        css = one.css
        css.used()
        self._paging.fit(css)
        for tgid in {tgid for tgid, more in one.grown.items() if more > 0} - one.held:
            if self._victims.candidate(tgid) is not None:
                one.held.add(tgid)
                self._stalled.begin(tgid)
                self._paging.refuse(tgid, css)
                css.note_event("max", MAX_BEFORE_KILL)
                css.note_failure(one.full, MAX_BEFORE_KILL + 1)
                css.note_event("oom")
                css.note_full()
                css.signal_oom()
        css.waiting = tuple(one.held)

    def _slow_down(self, one: LimitedCgroup) -> None:
        """Stops those that have grown over memory.high for as long as a kernel has them sleep, batch by batch."""
        now, css, batch = time.monotonic(), one.css, self._batch * PAGE_SIZE
        usage = one.charged - css.last_used.swap
        for tgid in [tgid for tgid, until in one.asleep.items() if until <= now]:
            one.asleep.pop(tgid)
            self._stalled.end(tgid)
        for tgid, more in one.grown.items():
            over = min(more + one.uncounted.get(tgid, 0), usage - one.high)
            if over <= 0:
                one.uncounted.pop(tgid, None)
                continue
            batches, one.uncounted[tgid] = divmod(over, batch)
            jiffies = 0
            for number in reversed(range(batches)):
                pages = (usage - number * batch) // PAGE_SIZE
                some = sleep(self._batch, overage(pages, css.high), 0, _HZ, self._batch)
                css.note_event("high", 1 + MAX_RECLAIM_RETRIES if some else 1)
                jiffies += some
            if jiffies and self._victims.candidate(tgid) is not None:
                one.asleep[tgid] = max(now, one.asleep.get(tgid, 0.0)) + jiffies / _HZ
                self._stalled.begin(tgid)


def _had(tgid: int) -> tuple[int, bool]:
    """Bytes that a process has, and whether that is exact: it is while that takes no time."""
    anon = footprint.anon_bytes(tgid)
    exact = footprint.exact_anon_bytes(tgid) if anon < _SMALL else None
    return (anon, False) if exact is None else (exact, True)
