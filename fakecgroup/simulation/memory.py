"""Memory as a resource of simulated processes: charges, limits, reclaim, memory.high's sleep and the OOM killer.

The next moment at which a limit is reached is computed from who grows how fast; nothing is polled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..controllers.memory.css import PAGE_COUNTER_MAX, Memory
from ..controllers.memory.pressure_level import note_failed_reclaim, note_reclaim
from ..core.cftype import PAGE_SIZE
from ..effects.charge import MAX_BEFORE_KILL, MAX_OF_VICTIM, MAX_RECLAIM_RETRIES, charge_batch
from ..effects.high_delay import overage, sleep
from ..effects.reclaim_rounds import rounds_of_reclaim
from ..effects.release import left_by_victims
from ..effects.vmpressure import LOOKS
from ..named_tuple import NamedTuple
from ..tasks.tid import Tid
from ..tasks.usage import MemoryUse
from .holding import UNIT, Holding
from .oom_killer import UNKILLABLE, Candidate, Killable, OomKiller
from .reclaim import Reclaim, Reclaimed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..core.cgroup import Cgroup
    from .process import Process
    from .world import World

_HZ = 250
_JIFFY = 1_000_000_000 // _HZ  # ns
_SECOND = 1_000_000_000
_CHUNK = 10  # a process that grows by reclaim finds memory for so many parts of a second at once
_NOBODY = MemoryUse()
_NO_HOLDING = Candidate()


class _Limit(NamedTuple):
    """What a process may still be charged: `room` in pages under the limit of `css`, None for the machine's memory.

    `prefix` is the beginning of v1's file names.
    """

    room: int
    css: Memory | None
    prefix: str = "memory."


class MemoryResource:
    """Gives simulated processes memory, as the limits of their cgroups let it. Amounts are pages."""

    name = "memory"
    _holdings: dict[Tid, Holding]
    _blocked: set[Tid]  # those that wait for room

    def __init__(self, world: World) -> None:
        self._world = world
        self._version = world.hierarchies[-1].personality.version
        self._batch = charge_batch(self._version)
        self._total = world.machine.memory // PAGE_SIZE
        self._swap = world.machine.swap // PAGE_SIZE
        self._hierarchy = world.hierarchy("memory") or world.hierarchies[-1]
        self._charges = self._hierarchy.membership.memory
        self._holdings = {}
        self._busy: dict[int, Holding] = {}  # those that grow, ask for memory, sleep or wait
        self._blocked = set()
        self._killer = OomKiller(world.machine, self._killable)
        recursive = "memory_recursiveprot" in self._hierarchy.options
        self._reclaim: Reclaim[Holding] = Reclaim(self._swap, recursive=recursive)
        self._homes: dict[Cgroup, list[Holding]] | None = None
        self._growers: dict[Memory | None, int] = {}  # processes that grow, by what they are charged to
        self._next: int | None = None  # when a limit is reached or a process goes on
        self._settled = -1  # up to when all that is busy is charged
        world.table.memory_of = self._use_of
        self._hierarchy.membership.reclaimer = self

    # -- what the event loop asks ----------------------------------------------------------------------

    def gather(self, processes: Collection[Process]) -> None:
        """Take the processes as they are now; those that wait for room try again."""
        self._settle()
        alive = {process.pid for process in processes}
        for pid in [pid for pid in self._holdings if pid not in alive]:
            self._drop(pid)
        for process in processes:
            cgroup = self._hierarchy.cgroup_of(process.pid)
            holding = self._holdings.get(process.pid)
            if holding is None:
                holding = self._holdings[process.pid] = Holding(process, cgroup, since=self._world.now)
            holding.cgroup, holding.counters = cgroup, None
            if holding.frozen != process.frozen:
                holding.frozen = process.frozen
                holding.since = max(self._world.now, holding.until)
        self._busy = dict(self._holdings)
        self._settled = -1
        self._homes = None
        self._retry()

    def take_over(self, process: Process, anon: int, file: int) -> None:
        """Let a process hold pages, which its cgroup is charged for from now on. All of files can be reclaimed."""
        home = self._hierarchy.cgroup_of(process.pid)
        holding = Holding(process, home, anon=anon, file=file, cold=file, since=self._world.now)
        self._holdings[process.pid] = holding
        self._show(holding)

    def begin(self, process: Process) -> None:
        holding, phase = self._holdings[process.pid], process.phase
        assert phase is not None
        if process.pid not in self._busy and phase.keeps_memory:
            holding.share = phase.reclaimable
            return
        self._settle()
        holding.settle(self._world.now)
        before = holding.pages
        holding.take(phase)
        if holding.blocked:
            self._unblock(holding)
        if holding.pages != before:
            self._show(holding)
            if holding.pages < before:
                self._retry()
        if not holding.idle(self._world.now):
            self._busy[process.pid] = holding
            self._proceed(holding)

    def resolve(self) -> None:
        now = self._world.now
        for holding in list(self._busy.values()):
            waits = holding.process.waits
            asleep = "memory" if now < holding.wakes else holding.blocked
            for name in ("memory", "oom"):
                if name == asleep:
                    waits[name] = 1.0
                elif name in waits:
                    del waits[name]
            if holding.idle(now):
                del self._busy[holding.process.pid]
        self._next = self._next_event()

    def next(self, until: int) -> int:
        return until if self._next is None else min(until, self._next)

    def advance(self, until: int) -> None:
        if self._next is None or until < self._next:
            return
        self._settle()
        for holding in list(self._holdings.values()):
            if holding.blocked is None and (holding.asks or holding.rate):
                self._proceed(holding)

    def show(self) -> None:
        """Charge what processes have grown by now, so that listeners and peaks see it."""
        self._settle()

    # -- what the files ask ----------------------------------------------------------------------------

    def fit(self, cgroup: Cgroup) -> None:
        """Make a cgroup fit into its limits (memory_max_write, memory_high_write)."""
        css = cgroup.csses.get("memory")
        if not isinstance(css, Memory):
            return
        self._settle()
        self._shrink(css, css.high)
        self._shrink(css, css.max)
        killed: list[int] = []  # pages of the victims
        while self.held(cgroup) + left_by_victims(killed, self._version) > css.max:
            css.note_event("oom")
            victims = self._kill(css)
            if not victims:
                break
            killed.append(max(victim.rss for victim in victims))

    def reclaim(self, cgroup: Cgroup, pages: int, *, may_swap: bool = True) -> int:
        self._settle()
        return self._free(cgroup, pages, may_swap=may_swap).pages

    def held(self, cgroup: Cgroup) -> int:
        css = cgroup.csses.get("memory")
        if not isinstance(css, Memory):
            return 0
        homes = {cgroup, *cgroup.descendants()}
        inside = [its for home, its in self._by_home().items() if home in homes]
        real = css.last_used.file // PAGE_SIZE - sum(one.file for its in inside for one in its)
        if self._swap:
            real += css.last_used.anon // PAGE_SIZE - sum(one.anon for its in inside for one in its)
        return css.pages - max(0, real)

    def _shrink(self, css: Memory, limit: int) -> None:
        over = self.held(css.cgroup) - limit
        if over > 0:
            self._free(css.cgroup, over)

    # -- amounts ---------------------------------------------------------------------------------------

    def _use_of(self, pid: int) -> MemoryUse:
        holding = self._holdings.get(pid)
        if holding is None:
            return _NOBODY
        holding.settle(self._world.now)
        return holding.use

    def _settle(self) -> None:
        """Charge what processes have grown up to now."""
        now = self._world.now
        if now == self._settled:
            return
        self._settled = now
        for holding in self._busy.values():
            grows = now > holding.since and holding.growing(now)
            holding.settle(now)
            if grows:
                self._show(holding)

    def _show(self, holding: Holding) -> None:
        """Bring the charges of a process up to date."""
        if holding.pages:
            self._charges.start(holding.process.pid, holding.cgroup)
        self._charges.look(holding.process.pid)

    def _counters(self, holding: Holding) -> tuple[Memory, ...]:
        """The groups that a process is charged to."""
        if holding.counters is None:
            css = holding.cgroup.effective_css("memory")
            holding.counters = tuple(css.counters()) if isinstance(css, Memory) else ()
        return holding.counters

    def _limits(self, holding: Holding) -> Iterator[_Limit]:
        """The limits above a process, in the order in which they are tried, and the machine's memory."""
        counters = self._counters(holding)
        for css in counters:
            if css.memsw_max != PAGE_COUNTER_MAX and not css.on_dfl:
                yield _Limit(css.memsw_max - css.pages - css.swap_pages, css, "memory.memsw.")
        for css in counters:
            if css.max != PAGE_COUNTER_MAX:
                yield _Limit(css.max - css.pages, css)
        yield _Limit(self._total - self._hierarchy.root.memory.total // PAGE_SIZE, None)

    def _tightest(self, holding: Holding) -> _Limit:
        return min(self._limits(holding), key=lambda limit: max(0, limit.room))

    def _over_high(self, holding: Holding) -> list[Memory]:
        """The cgroups above a process that have no room under memory.high."""
        return [css for css in self._counters(holding) if css.high - css.pages < self._share_of_room(holding, css)]

    # -- when something happens next --------------------------------------------------------------------

    def _next_event(self) -> int | None:
        if not self._busy:
            return None
        now = self._world.now
        soonest: int | None = None
        growing: dict[Memory | None, list[Holding]] = {}
        room: dict[Memory | None, int] = {None: self._total - self._hierarchy.root.memory.total // PAGE_SIZE}
        for holding in self._busy.values():
            if holding.growing(now):
                for css in self._counters(holding):
                    if css not in room:
                        room[css] = _steady_room(css)
                    growing.setdefault(css, []).append(holding)
                growing.setdefault(None, []).append(holding)
                continue
            for time in (holding.wakes, holding.until):
                if time > now and (soonest is None or time < soonest):
                    soonest = time
        self._growers = {key: len(inside) for key, inside in growing.items()}
        for key, inside in growing.items():
            if room[key] >= PAGE_COUNTER_MAX // 2:
                continue
            left = room[key] * UNIT - sum(holding.grown(now) for holding in inside)
            time = now + max(1, -(-left // sum(holding.rate for holding in inside)))
            if soonest is None or time < soonest:
                soonest = time
        return soonest

    # -- charges ---------------------------------------------------------------------------------------

    def _proceed(self, holding: Holding) -> None:
        """Charge what a process asks for, or find room for what it grows by, until it sleeps, waits or has it."""
        now = self._world.now
        while holding.process.pid in self._holdings and not (holding.blocked or holding.frozen):
            if holding.until > now or not (holding.asks or self._is_held_up(holding)):
                return
            limit = self._tightest(holding)
            high = self._over_high(holding)
            if limit.room < self._share_of_room(holding, limit.css):
                self._find_room(holding, limit)
            elif high:
                self._exceed_high(holding, high, limit.room)
            else:
                most = min((css.high - css.pages for css in self._counters(holding)), default=holding.asked)
                self._charge(holding, min(holding.asked, limit.room, most))

    def _is_held_up(self, holding: Holding) -> bool:
        """True if a process that grows has reached a limit."""
        if holding.rate == 0:
            return False
        limit = self._tightest(holding)
        return limit.room < self._share_of_room(holding, limit.css) or bool(self._over_high(holding))

    def _share_of_room(self, holding: Holding, css: Memory | None) -> int:
        """Pages of room that are as good as none: a page for each process that grows under the limit."""
        if holding.asks:
            return 1
        return self._growers.get(css, 1)

    def _charge(self, holding: Holding, pages: int) -> None:
        holding.charge(pages)
        self._show(holding)

    def _chunk(self, holding: Holding) -> int:
        """Pages that a process at a limit has reclaimed for it at once."""
        return max(self._batch, holding.asked or holding.rate // PAGE_SIZE // _CHUNK)

    def _find_room(self, holding: Holding, limit: _Limit) -> None:
        """Reclaim for a process at a limit (try_charge_memcg); where nothing is found, kill."""
        css = limit.css
        top = css.cgroup if css is not None else self._hierarchy.root
        listed, reads = self._cold(top), "file" in holding.asks
        got = self._free(top, self._chunk(holding), may_swap=limit.prefix == "memory.")
        if got.pages:
            self._read_on(holding, got)
            rounds = rounds_of_reclaim(self._version, swapped=got.swap, dropped=got.file, listed=listed, refilled=reads)
            self._note_max(css, limit.prefix, rounds)
            if css is not None and not css.on_dfl:
                note_reclaim(css, got.pages, got.pages, rounds * LOOKS)
            self._sleep(holding, got.time)
            return
        self._note_failures(css, limit.prefix, MAX_BEFORE_KILL)
        if css is not None and css.oom_kill_disable and not css.on_dfl:
            self._block(holding, "oom")
            css.waiting = (*css.waiting, holding.process.pid)
            css.note_event("oom")
            css.signal_oom()
            return
        if css is not None:
            css.note_oom()
        if not self._kill(css):
            self._block(holding, "memory")
        elif holding.process.pid not in self._holdings:
            self._note_failures(css, limit.prefix, MAX_OF_VICTIM)

    @staticmethod
    def _note_max(css: Memory | None, prefix: str, count: int) -> None:
        if css is not None:
            css.note_event("max", count)
            css.note_failure(prefix, count + 1)

    def _note_failures(self, css: Memory | None, prefix: str, count: int) -> None:
        """Count rounds of reclaim that found nothing."""
        self._note_max(css, prefix, count)
        if css is not None and not css.on_dfl:
            note_failed_reclaim(css, count)

    def _exceed_high(self, holding: Holding, over: list[Memory], room: int) -> None:
        """Reclaim for a process over memory.high, or let it grow a batch and sleep (mem_cgroup_handle_over_high)."""
        for css in over:
            got = self._free(css.cgroup, self._chunk(holding) + css.pages - css.high)
            if got.pages:
                self._read_on(holding, got)
                css.note_event("high", -(-got.pages // self._batch))
                self._sleep(holding, got.time)
                return
        pages = min(self._batch, room, holding.asked or room)
        self._charge(holding, pages)
        css_list = self._counters(holding)
        over_memory = max((overage(css.pages, css.high) for css in css_list), default=0)
        over_swap = max((overage(css.swap_pages, css.swap_high) for css in css_list), default=0)
        jiffies = sleep(self._batch, over_memory, over_swap, _HZ, self._batch)
        for css in css_list:
            if css.pages > css.high:
                css.note_event("high", 1 + MAX_RECLAIM_RETRIES if jiffies else 1)
            if over_swap and css.swap_pages > css.swap_high:
                css.note_swap_event("high")
        ahead = 0 if holding.asks or not holding.rate else pages * PAGE_SIZE * _SECOND // holding.rate
        holding.wakes = self._world.now + jiffies * _JIFFY
        holding.until = holding.since = holding.wakes + ahead

    @staticmethod
    def _read_on(holding: Holding, got: Reclaimed[Holding]) -> None:
        """Let a process that reads a file drop those pages again for which there is no room, all of which are cold."""
        passed = min(holding.asks.get("file", 0), holding.asked - got.pages)
        if passed <= 0 or holding.share < 1:
            return
        holding.asks["file"] -= passed
        if not holding.asks["file"]:
            del holding.asks["file"]
        got.file += passed
        for above in holding.cgroup.lineage():
            above.reclaimed += passed

    def _sleep(self, holding: Holding, time: int) -> None:
        holding.wakes = holding.until = holding.since = self._world.now + time

    # -- reclaim and kills -------------------------------------------------------------------------------

    def _free(self, top: Cgroup, pages: int, *, may_swap: bool = True) -> Reclaimed[Holding]:
        got = self._reclaim.free(top, self._by_home(), pages, may_swap=may_swap and self._swap > 0)
        for holding in got.holdings:
            self._show(holding)
        return got

    def _cold(self, top: Cgroup) -> int:
        """Pages of files in a cgroup and below that can be dropped."""
        return sum(one.cold for one in self._holdings.values() if one.cold and top in one.cgroup.lineage())

    def _by_home(self) -> dict[Cgroup, list[Holding]]:
        """The processes by their cgroup."""
        if self._homes is None:
            self._homes = {}
            for holding in self._holdings.values():
                self._homes.setdefault(holding.cgroup, []).append(holding)
        return self._homes

    def _killable(self, pid: int) -> Killable | None:
        if pid in UNKILLABLE or self._world.table.find(pid) is None:
            return None
        return self._holdings.get(pid, _NO_HOLDING)

    def _kill(self, css: Memory | None) -> list[Killable]:
        """Kill for a cgroup, or for the machine: what the victims held. Empty if nobody can be killed."""
        pids = self._killer.victims(css.cgroup if css is not None else self._hierarchy.root)
        victims = [self._killable(pid) or _NO_HOLDING for pid in pids]
        self._homes = None
        for pid in pids:
            self._drop(pid)
            self._world.kill(pid)
        return victims

    def _drop(self, pid: int) -> None:
        self._holdings.pop(pid, None)
        self._busy.pop(pid, None)
        self._blocked.discard(pid)

    # -- processes that wait for room ---------------------------------------------------------------------

    def _block(self, holding: Holding, name: str) -> None:
        holding.blocked = name
        self._blocked.add(holding.process.pid)

    def _unblock(self, holding: Holding) -> None:
        holding.blocked = None
        self._blocked.discard(holding.process.pid)
        holding.since = self._world.now
        for css in self._counters(holding):
            css.waiting = tuple(pid for pid in css.waiting if pid != holding.process.pid)

    def _retry(self) -> None:
        """Let the processes try again that wait for room, where there is some or the OOM killer may work."""
        for pid in sorted(self._blocked):
            holding = self._holdings.get(pid)
            if holding is None or holding.blocked is None:
                continue  # an earlier one's room has killed it, or has let it go on
            limit = self._tightest(holding)
            may_kill = holding.blocked == "oom" and limit.css is not None and not limit.css.oom_kill_disable
            others = [one for one in self._busy.values() if one.rate and limit.css in (None, *self._counters(one))]
            if limit.room > (0 if holding.asks else len(others)) or may_kill:
                self._unblock(holding)
                self._proceed(holding)


def _steady_room(css: Memory) -> int:
    """Pages until a cgroup reaches one of its limits."""
    room = min(css.max, css.high) - css.pages
    if not css.on_dfl and css.memsw_max != PAGE_COUNTER_MAX:
        room = min(room, css.memsw_max - css.pages - css.swap_pages)
    return room
