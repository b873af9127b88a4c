"""memory.max, and v1's memory.limit_in_bytes, of real processes: who is over it, and the OOM killer's choice is killed.

Looks are quick while a cgroup is far from its limit. Near it they are precise: only what is certainly charged counts
(`ledger`). What else may be charged is left alone, and logged once.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fakecgroup import Kernel
from fakecgroup.controllers.memory.css import PAGE_COUNTER_MAX, Memory
from fakecgroup.core.cftype import PAGE_SIZE
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.effects.charge import CHARGE_BATCH, MAX_BEFORE_KILL, MAX_OF_VICTIM, MAX_RECLAIM_RETRIES
from fakecgroup.effects.high_delay import overage, sleep
from fakecgroup.simulation.oom_killer import UNKILLABLE, Candidate, OomKiller
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.enforce import footprint
from fakecgroup_mount.enforce.footprint import Footprint
from fakecgroup_mount.enforce.ledger import Ledger
from fakecgroup_mount.enforce.looks import LONGEST, SPARING, margin, next_look
from fakecgroup_mount.enforce.mrelease import release_memory
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shared_memory import shares_memory
from fakecgroup_mount.host.usage import parent_of

log = logging.getLogger(__name__)

_HZ = 250
_SPARING = 3  # times the duration of a quick look until the next
_MUCH = 1 << 20  # bytes
_DYING = 5.0  # seconds for a killed process to give its memory back, until the next may be killed


_NONE = 1 << 63  # bytes


@dataclass(slots=True, eq=False)
class _Limited:
    """A cgroup with a limit: bytes, its processes, and when it is to be looked at next."""

    css: Memory
    limit: int = _NONE
    high: int = _NONE
    tgids: list[int] = field(default_factory=list)
    due: float = 0.0  # monotonic
    precise: float = 0.0  # the next precise look, as pages that are shared become private
    enough: int = 0  # bytes by a quick look that take a precise one before
    had: dict[int, int] = field(default_factory=dict)  # bytes of each process at the last quick look
    grown: dict[int, int] = field(default_factory=dict)  # since the one before
    lowered: bool = False  # it was over the limit when that was written
    doubted: bool = False  # the log says that what is uncertain was left alone

    held: set[int] = field(default_factory=set)  # stopped until there is room, as the OOM killer is disabled
    asleep: dict[int, float] = field(default_factory=dict)  # stopped for memory.high, until a monotonic time
    surplus: int = 0  # bytes that a quick look counts too much

    def take(self, limit: int, high: int) -> None:
        """Begins a new list of processes; the limits may have been written."""
        self.tgids = []
        self.due = 0.0
        self.high, raised = high, high > self.high
        if raised:
            self.asleep = dict.fromkeys(self.asleep, 0.0)
        if limit != self.limit:
            self.lowered, self.limit, self.precise, self.enough, self.doubted = limit < self.limit, limit, 0.0, 0, False


class MemoryLimits:
    """Looks at the processes of `kernel`'s limited cgroups. `lock` is the model's.

    `spared` are pids that are never killed, beside init, this process and its children.
    """

    def __init__(
        self, kernel: Kernel, processes: HostProcesses, lock: threading.Lock, spared: frozenset[int] = frozenset()
    ) -> None:
        self._kernel = kernel
        self._processes = processes
        self._lock = lock
        self._spared = {*UNKILLABLE, os.getpid(), *spared}
        self._ledger = Ledger()
        self.idle = True
        """No cgroup has a limit or a process."""
        self._limited: list[_Limited] = []
        self._seen: dict[int, int] = {}  # pid -> how many of its charges the ledger knows
        self._dying: dict[int, float] = {}  # pid -> monotonic time until which it is waited for
        self._killer = OomKiller(kernel.machine, self._candidate)
        self._hierarchy: Hierarchy | None = next((one for one in kernel.hierarchies if one.counts_memory), None)

    # -- who is where, with the lock held ------------------------------------------------------------------

    def gather(self) -> None:
        """Takes limits and processes as they are now. The caller holds the lock."""
        if self._hierarchy is None:
            return
        self._hierarchy.membership.adopt_forked()
        root = self._hierarchy.root
        placed: dict[int, Cgroup] = {}
        self.idle = True
        for cgroup in root.descendants():
            css = cgroup.csses.get("memory")
            if isinstance(css, Memory) and min(css.max, css.high) != PAGE_COUNTER_MAX:
                self.idle = False
            for tid, tgid in cgroup.tasks.items():
                if tid == tgid and not is_simulated(tgid):
                    placed[tgid] = cgroup
                    self.idle = False  # its children are to be seen soon after they start
        self._ledger.keep(placed)
        self._seen = {tgid: seen for tgid, seen in self._seen.items() if tgid in placed}
        known = {one.css: one for one in self._limited}
        limited: dict[Memory, _Limited] = {}
        for tgid, cgroup in sorted(placed.items()):
            self._enter(tgid, cgroup)
            for css in _limits_above(cgroup):
                one = limited.get(css)
                if one is None:
                    one = limited[css] = known.get(css) or _Limited(css)
                    one.take(_limit(css), _high(css))
                one.tgids.append(tgid)
        for css, one in known.items():
            members = set(one.tgids) if css in limited else set()
            for tgid in (one.held | one.asleep.keys()) - members:
                self._let_go(one, tgid)
        self._limited = sorted(limited.values(), key=lambda one: -sum(1 for _ in one.css.cgroup.lineage()))

    def _enter(self, tgid: int, cgroup: Cgroup) -> None:
        """Tells the ledger where a process is."""
        assert self._hierarchy is not None
        places = self._hierarchy.membership.memory.charged_places(tgid)
        anon = footprint.anon_bytes(tgid)
        if tgid not in self._ledger:
            parent, image = footprint.parent_and_image(tgid)
            self._ledger.begin(tgid, image, parent if len(places) == 1 else None)
        lineage = [above for above in cgroup.lineage() if above.parent is not None]
        since = places[self._seen.get(tgid, 0) :]
        self._seen[tgid] = len(places)
        stayed = [above for above in lineage if all(above in place.lineage() for place in since)]
        self._ledger.place(tgid, lineage, stayed, anon)

    def _let_go(self, one: _Limited, tgid: int) -> None:
        """Lets a process go on. The lock is held."""
        one.held.discard(tgid)
        one.asleep.pop(tgid, None)
        for why in (one, (one, "high")):
            self._processes.let_go(tgid, why)
        one.css.waiting = tuple(one.held)

    def release(self) -> None:
        """Lets everybody go on. The caller holds the lock."""
        for one in self._limited:
            for tgid in one.held | one.asleep.keys():
                self._let_go(one, tgid)

    # -- looks, without the lock ---------------------------------------------------------------------------

    def look(self) -> float:
        """Looks at what is due, and kills. Returns the seconds until the next look."""
        now = time.monotonic()
        self._bury(now)
        for one in self._limited:
            if one.due > now:
                continue
            most = self._at_most(one)
            room = max(one.limit, one.enough) - most
            one.lowered = one.lowered and room < 0
            suspect = most > min(one.limit, one.high) or bool(one.held)
            if room < 0 or (suspect and one.precise <= now):
                self._look_closely(one, most)
                room = max(one.limit, one.enough) - most
            if one.asleep or most - one.surplus > one.high:
                self._slow_down(one, most - one.surplus, now)
            room = min(room, max(0, one.high - (most - one.surplus)))  # none while it is slowed down
            due = min(now + next_look(room), one.precise if suspect else now + LONGEST)
            began, now = now, time.monotonic()
            one.due = max(due, now + _SPARING * (now - began))  # a cgroup with many processes takes a while
        return max(0.0, min((one.due for one in self._limited), default=now + LONGEST) - time.monotonic())

    def _at_most(self, one: _Limited) -> int:
        """Bytes that may be charged, by quick looks."""
        cgroup = one.css.cgroup
        total = one.css.usage * PAGE_SIZE
        had, one.had = one.had, {}
        for tgid in one.tgids:
            if (self._ledger.before(tgid, cgroup) or 0) > _MUCH:  # it may execute another program
                self._ledger.renew(tgid, footprint.parent_and_image(tgid)[1])
            anon = footprint.anon_bytes(tgid)
            one.had[tgid] = anon
            before = self._ledger.before(tgid, cgroup)
            total += 0 if before is None else max(0, anon - before)
        one.grown = {tgid: anon - had.get(tgid, 0) for tgid, anon in one.had.items()}
        return total

    def _look_closely(self, one: _Limited, most: int) -> None:
        began = time.monotonic()
        if any(tgid in self._dying for tgid in one.tgids):
            return
        found = dict(_distinct(one.tgids))
        cgroup = one.css.cgroup
        total = one.css.usage * PAGE_SIZE
        total += sum(self._ledger.certain(tgid, cgroup, what) for tgid, what in found.items())
        room = one.limit + margin(one.limit) - total
        one.surplus = most - total
        waits = one.css.oom_kill_disable and not one.css.on_dfl
        if one.held and (room >= 0 or not waits):
            with self._lock:
                for tgid in list(one.held):
                    self._let_go(one, tgid)
        if room < 0 and waits:
            self._let_wait(one)
            one.enough, one.precise = most, began + LONGEST / 2
            return
        if room < 0 and not self._out_of_memory(one):
            one.enough, one.precise = _NONE, began + LONGEST
            return
        if room >= 0 and not one.doubted and sum(what.share for what in found.values()) > one.limit + margin(one.limit):
            one.doubted = True
            log.warning("%s is left alone: of its memory only %d bytes are certainly charged there", cgroup.path, total)
        now = time.monotonic()
        one.enough = most + max(0, room)
        one.precise = now + max(next_look(room), SPARING * (now - began))

    # -- out of memory -------------------------------------------------------------------------------------

    def _out_of_memory(self, one: _Limited) -> bool:
        """Kills whom the OOM killer chooses; False if that is nobody."""
        with self._lock:
            css = one.css
            if css.cgroup.dead or _limit(css) != one.limit:
                return False
            if self._have_moved(one):
                self.gather()
                return True
            victims = self._killer.victims(css.cgroup)
            if not victims:
                return False
            grower = max(one.grown, key=one.grown.__getitem__, default=0)
            if not one.lowered:  # memory_max_write counts no `max`, and its first `oom` was counted
                count = MAX_BEFORE_KILL + (MAX_OF_VICTIM if grower in victims else 0)
                css.note_event("max", count)
                css.note_failure("memory.", count + 1)
                css.note_oom()
                css.note_full()
            one.lowered = False
            released = [self._kill(tgid) for tgid in victims]
        for pidfd in released:
            release_memory(pidfd)
            os.close(pidfd)
        return True

    def _have_moved(self, one: _Limited) -> bool:
        """True if some of the processes may have been elsewhere since they were gathered: that is counted anew."""
        members, charges = one.css.cgroup.processes(), one.css.cgroup.hierarchy.membership.memory
        return any(
            tgid not in members or len(charges.charged_places(tgid)) > self._seen.get(tgid, 0) for tgid in one.tgids
        )

    def _let_wait(self, one: _Limited) -> None:
        """Stops those that have grown, until there is room, or the OOM killer may work (mem_cgroup_oom)."""
        css = one.css
        growing = {tgid for tgid, more in one.grown.items() if more > 0} - one.held
        with self._lock:
            for tgid in growing:
                if self._candidate(tgid) is not None:
                    one.held.add(tgid)
                    self._processes.hold(tgid, one)
                    css.note_event("max", MAX_BEFORE_KILL)
                    css.note_failure("memory.", MAX_BEFORE_KILL + 1)
                    css.note_event("oom")
                    css.note_full()
                    css.signal_oom()
            css.waiting = tuple(one.held)

    def _slow_down(self, one: _Limited, usage: int, now: float) -> None:
        """Stops those that have grown over memory.high for as long as a kernel has them sleep, batch by batch."""
        css = one.css
        over = overage(usage // PAGE_SIZE, one.high // PAGE_SIZE)
        jiffies = sleep(CHARGE_BATCH, over, 0, _HZ)
        with self._lock:
            for tgid in [tgid for tgid, until in one.asleep.items() if until <= now]:
                one.asleep.pop(tgid)
                self._processes.let_go(tgid, (one, "high"))
            for tgid, more in one.grown.items():
                batches = more // PAGE_SIZE // CHARGE_BATCH
                if over and batches > 0 and tgid not in one.asleep:
                    css.note_event("high", batches * (1 + MAX_RECLAIM_RETRIES if jiffies else 1))
                    if jiffies and self._candidate(tgid) is not None:
                        one.asleep[tgid] = now + batches * jiffies / _HZ
                        self._processes.hold(tgid, (one, "high"))

    def _kill(self, tgid: int) -> int:
        """Kills a process; returns a pidfd of it."""
        pidfd = os.dup(self._processes.watched[tgid])
        self._dying[tgid] = time.monotonic() + _DYING
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        return pidfd

    def _bury(self, now: float) -> None:
        """Forgets those that were killed and have given their memory back."""
        for tgid in [tgid for tgid, until in self._dying.items() if until < now or not footprint.anon_bytes(tgid)]:
            del self._dying[tgid]

    def _candidate(self, tgid: int) -> Candidate | None:
        """None for a process that is gone, that we may not signal, or whose pid may be another's by now."""
        pidfd = self._processes.watched.get(tgid, -1)
        if pidfd < 0 or tgid in self._spared or parent_of(tgid) == os.getpid():
            return None
        try:
            signal.pidfd_send_signal(pidfd, 0)
        except OSError:
            return None
        return footprint.candidate(tgid)


def _limits_above(cgroup: Cgroup) -> Iterator[Memory]:
    css = cgroup.effective_css("memory")
    if isinstance(css, Memory):
        for above in css.counters():
            if min(above.max, above.high) != PAGE_COUNTER_MAX:
                yield above


def _limit(css: Memory) -> int:
    """Bytes that can be charged before somebody is killed: what may be swapped out comes on top."""
    if css.on_dfl:
        swap = min(css.swap_max * PAGE_SIZE, css.machine.swap)
    else:
        swap = min((css.memsw_max - css.max) * PAGE_SIZE, css.machine.swap) if css.swappiness else 0
    return _NONE if css.max == PAGE_COUNTER_MAX else css.max * PAGE_SIZE + max(0, swap)


def _high(css: Memory) -> int:
    """Bytes of memory.high, above which processes are slowed down."""
    return _NONE if css.high == PAGE_COUNTER_MAX or not css.on_dfl else css.high * PAGE_SIZE


def _distinct(tgids: Iterable[int]) -> Iterator[tuple[int, Footprint]]:
    """The footprints of processes, those with one address space once."""
    seen: dict[Footprint, list[int]] = {}
    for tgid in tgids:
        found = footprint.footprint(tgid)
        if found is None:
            continue
        alike = seen.setdefault(found._replace(parent=0), [])
        if not any(shares_memory(tgid, other) for other in alike):
            yield tgid, found
        alike.append(tgid)
