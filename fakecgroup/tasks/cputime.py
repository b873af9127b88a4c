"""Accounts of the CPU time that real processes use, by cgroup.

Nobody reports CPU time as it is used. The model looks at a process when it moves, when it exits, when somebody reads a
file, and at intervals. The time since the last look is counted in the cgroups that the process was in, and in those
above, for good.

A child that came and went between two looks shows only in the time of its parent, once that has waited for it (cutime).
So does what a known child used after the last look at it. To count nothing twice, the account of a parent knows how
much of its children's time is counted already. A child that outlived its parent may be waited for by any process above:
it is matched with the first whose unexplained time it fits into.

If processes are reported before they exit (`exiting`), only deaths by signals are left to find that way. If every end
is reported with its CPU time (`thread_ended`), nothing is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple
from .usage import CpuTime, CpuUse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from .place import Places
    from .processes import End, Processes
    from .tid import Tid

_COARSE = 20_000_000  # ns that children's time may be shown too small: two numbers in 1/100 s
_ATTEMPTS = 4  # at one consistent view of a process and its children
_NOBODY = 0  # the parent of a process that nobody waits for
_BUSY = 1_000_000  # ns between two looks; a process that used less is idle


class GoneChild(NamedTuple):
    """A child that is gone: the ns of it that are `counted`, its places, the time of the last look `at` it (ns), and
    the most ns that it can have used since (`rest`; None: all the time that has passed).
    """

    counted: int
    places: Places | None
    at: int
    rest: int | None = None


class MovedThread(NamedTuple):
    """A thread in other cgroups than its leader, and the ns that it had run at the last look."""

    places: Places
    run: int


class Account:
    """One process: its places (None: no place that counts), the use `seen` at the last look, and the ns of its
    children's time that are counted (`waited`). A process that is about to exit uses at most `rest` ns more, and waits
    for no more children.
    """

    __slots__ = ("at", "busy", "ended", "gone", "moved_threads", "places", "rest", "seen", "waited")

    places: Places | None
    seen: CpuUse
    waited: int
    at: int
    gone: list[GoneChild]
    moved_threads: dict[Tid, MovedThread]
    busy: bool  # its children are being looked at
    rest: int | None  # ns
    ended: bool  # its end was reported

    def __init__(self, places: Places | None, seen: CpuUse, waited: int, at: int) -> None:
        self.places = places
        self.seen = seen
        self.waited = waited
        self.at = at
        self.gone = []
        self.moved_threads = {}
        self.busy = False
        self.rest = None
        self.ended = False


class CpuAccounts:
    """The accounts of the processes that are or were in a cgroup, and of the parents that wait for them."""

    busy: bool  # a process ran since this was last cleared
    _accounts: dict[Tid, Account]
    _orphans: list[GoneChild]  # gone, and waited for by an unknown process
    _old_orphans: int  # how many of the orphans, from the start, are older than the last `look_at_all`
    _missing: set[Tid]  # gone, with an end not reported yet
    _waiters: set[Tid]  # parents that are in no cgroup themselves

    def __init__(self, processes: Processes, now: Callable[[], int]) -> None:
        self._processes = processes
        self._now = now
        self._accounts = {}
        self._children: dict[int, set[int]] = {}  # parent, as last seen -> its children with an account
        self._orphans = []
        self._old_orphans = 0
        self.ends_reported = False  # every end is reported to `thread_ended`
        self._missing = set()
        self.busy = False
        self._waiters = set()

    def __bool__(self) -> bool:
        return len(self._accounts) > len(self._waiters)

    def __contains__(self, tgid: int) -> bool:
        return tgid in self._accounts

    def restored(self, ended: Collection[int]) -> None:
        """Find out who is whose child, after all accounts were set. Those of processes that have `ended` are gone."""
        self._children = {}
        self._waiters.difference_update(ended)
        for tgid, account in list(self._accounts.items()):
            if tgid in ended:
                del self._accounts[tgid]
            else:
                self._children.setdefault(account.seen.parent, set()).add(tgid)

    def _open(self, tgid: int, account: Account) -> Account:
        if tgid in self._accounts:
            self._drop(tgid)
        self._accounts[tgid] = account
        self._children.setdefault(account.seen.parent, set()).add(tgid)
        return account

    def _drop(self, tgid: int) -> None:
        parent = self._accounts.pop(tgid).seen.parent
        siblings = self._children[parent]
        siblings.remove(tgid)
        if not siblings:
            del self._children[parent]

    def _see(self, tgid: int, account: Account, use: CpuUse) -> None:
        if use.parent != account.seen.parent:
            self._drop(tgid)
            account.seen = use
            self._open(tgid, account)
        account.seen = use

    def start(self, tgid: int, places: Places) -> None:
        """Open the account of a process that was forked in these cgroups: all its time counts there."""
        use = self._processes.cpu(tgid)
        if use is None:
            if self.ends_reported:
                self._open(tgid, Account(places, CpuUse(0, 0, CpuTime(), CpuTime()), 0, self._now()))
            return
        known = self._accounts.get(tgid)
        if known is not None and known.seen.start == use.start and tgid not in self._waiters:
            return
        if known is not None:
            self.look(tgid)
        waiter = self._accounts.get(tgid) if tgid in self._waiters else None
        self._waiters.discard(tgid)
        unused = use._replace(own=CpuTime(), children=waiter.seen.children if waiter else CpuTime())
        account = self._open(tgid, Account(places, unused, waiter.waited if waiter else 0, self._now()))
        account.gone = waiter.gone if waiter else []
        self.look(tgid)

    def exiting(self, tgid: int, rest: int) -> None:
        """Count all time so far of a process that is about to exit, and of the children that it has waited for.

        The exit takes at most `rest` ns more.
        """
        account = self._accounts.get(tgid)
        if account is None:
            use = self._processes.cpu(tgid, exact=True)
            if use is None or use.parent not in self._accounts:
                return
            account = self._open(tgid, Account(None, use, _waited(use), self._now()))
        self._waiters.discard(tgid)
        for child in list(self._children.get(tgid, ())):
            self.look(child, exact=True)
        self.look(tgid, exact=True)
        account.rest = rest

    def thread_ended(self, end: End) -> None:
        """Count the time of a thread that has ended: the rest of a known process, else all, where it was forked."""
        account = self._accounts.get(end.tgid)
        if account is None:
            if end.whole is not None:
                _count(end.places, end.whole, 0)
            return
        thread = account.moved_threads.pop(end.tid, None)
        own = account.seen.own
        if thread is not None and end.run > thread.run:
            part = CpuTime(end.run - thread.run)
            _count(thread.places, part, account.seen.cpu)
            own = own.plus(part)
        if end.whole is not None:
            rest = end.whole.less(own)
            _count(account.places, rest, account.seen.cpu)
            own = own.plus(rest)
            account.ended = True
        account.seen = account.seen._replace(own=own)
        if account.ended and end.tgid in self._missing:
            self._drop(end.tgid)

    def move(self, tgid: int, places: Places | None) -> None:
        """Note that a process is about to be in these cgroups. Its time so far stays where it was."""
        if tgid in self._accounts:
            self.look(tgid)
        account = self._accounts.get(tgid)
        if account is None:
            use = self._processes.cpu(tgid)
            if use is None or places is None:
                return
            account = self._open(tgid, Account(places, use, _waited(use), self._now()))
            self._know_parent(use.parent)
        self._waiters.discard(tgid)
        account.places = places

    def move_thread(self, tid: int, tgid: int, places: Places | None) -> None:
        """Note that a thread is in other cgroups than its leader from now on (None: no longer)."""
        account = self._accounts.get(tgid)
        if account is None:
            use = self._processes.cpu(tgid) if places is not None else None
            if use is None:
                return
            account = self._open(tgid, Account(None, use, _waited(use), self._now()))
        elif (None if tid not in account.moved_threads else account.moved_threads[tid].places) == places:
            return
        self.look(tgid)
        account.moved_threads.pop(tid, None)
        if places is not None:
            account.moved_threads[tid] = MovedThread(places, self._processes.thread_cpu(tid))

    def look_at_all(self) -> set[int]:
        """Look at every process. Returns those that have run since the last look, or are gone."""
        missing, self._missing = self._missing, set()
        ran = {tgid for tgid in list(self._accounts) if self.look(tgid)}
        for tgid in missing & self._missing & self._accounts.keys():
            self._drop(tgid)  # the report of its end was lost
        used = {account.seen.parent for tgid, account in self._accounts.items() if tgid not in self._waiters}
        for tgid in self._waiters - used:
            if tgid in self._accounts:
                self._drop(tgid)
        self._waiters &= used
        del self._orphans[: self._old_orphans]
        self._old_orphans = len(self._orphans)
        return ran

    def look(self, tgid: int, *, exact: bool = False) -> bool:
        """Count what a process has used since the last look; `exact` as in `Processes.cpu`. True if it ran or is gone.

        The last time of a process that is gone is found in its parent's.
        """
        account = self._accounts.get(tgid)
        if account is None or account.busy:
            return False
        use = self._processes.cpu(tgid, exact=exact or bool(account.gone))
        if self.ends_reported:
            return self._look_at_one(tgid, account, use)
        if use is account.seen and not account.gone:
            account.at = self._now()
            return False
        # A child whose own look is under way (it led here) may be gone, which is not known yet: a later look finds out.
        deferred = any(self._accounts[child].busy for child in self._children.get(tgid, ()))
        if use is not None and deferred:
            use = use._replace(children=account.seen.children)
        elif use is not None and use.children.run != account.seen.children.run:
            use = self._look_at_children(tgid, account, use)
        if use is None or use.start != account.seen.start:
            self._close(tgid, account)
            return True
        seen = account.seen
        self._see(tgid, account, use)
        if use is not seen:
            self._count_own(account, use.own.less(seen.own))
        if not deferred and (use is not seen or account.gone):
            self._count_children(account, use.children.less(seen.children))
        account.at = self._now()
        if account.places is not None and tgid not in self._waiters:
            self._know_parent(use.parent)
        return True

    def _look_at_one(self, tgid: int, account: Account, use: CpuUse | None) -> bool:
        """`look` where every end is reported: the time of children need not be found in a parent."""
        seen = account.seen
        if use is None or use.start != seen.start:
            if account.ended:
                self._drop(tgid)
            else:
                self._missing.add(tgid)
            return True
        if use is seen:
            return False
        own = CpuTime(*map(max, use.own, seen.own))  # an ended thread may be missing in the clock of its process
        self._see(tgid, account, use if own == use.own else use._replace(own=own))
        if own == seen.own:
            return False
        self._count_own(account, own.less(seen.own))
        return True

    def _look_at_children(self, tgid: int, account: Account, use: CpuUse) -> CpuUse | None:
        """Look at the known children of a process, before new children's time is taken for that of unknown ones.

        Returns what the process has used by then.
        """
        account.busy = True
        for _ in range(_ATTEMPTS):
            for child in list(self._children.get(tgid, ())):
                self.look(child, exact=True)
            before, again = use, self._processes.cpu(tgid, exact=True)
            if again is None or again.children.run == before.children.run:
                break
            use = again
        account.busy = False
        return again

    def _know_parent(self, parent: int) -> None:
        """Open an account for the parent of a process in a cgroup, to know what it has waited for until now."""
        if self.ends_reported:
            return
        if parent not in self._accounts:
            use = self._processes.cpu(parent)
            if use is None:
                return
            self._open(parent, Account(None, use, _waited(use), self._now()))
            self._waiters.add(parent)
        elif parent in self._waiters:
            self.look(parent)

    def _count_own(self, account: Account, used: CpuTime) -> None:
        if used.run >= _BUSY:
            self.busy = True
        for tid, thread in list(account.moved_threads.items()):
            run = self._processes.thread_cpu(tid)
            if not run:
                del account.moved_threads[tid]  # the rest of its time counts where the leader is
                continue
            share = min(max(0, run - thread.run), used.run)  # its clock was read after that of the process
            part = _part(used, share)
            used = used.less(part)
            account.moved_threads[tid] = thread._replace(run=thread.run + share)
            _count(thread.places, part, account.seen.cpu)
        _count(account.places, used, account.seen.cpu)

    def _count_children(self, account: Account, new: CpuTime) -> None:
        """Count `new` time of children.

        It belongs to the children that are gone, up to what each can have used since the last look. The rest belongs
        to children that nobody saw, which were where their parent is.
        """
        total = account.seen.children.run
        if total > account.waited + sum(child.counted for child in account.gone):
            account.busy = True
            self._look_at_orphans()
            account.busy = False
        gone, account.gone = account.gone, []
        counted = account.waited + sum(child.counted for child in gone)
        fresh = total - counted
        account.waited = max(total, min(counted, total + _COARSE))
        if fresh > 0 and self._orphans:
            fresh = self._without_orphans(fresh)
        if fresh <= 0:
            return
        ends = [child for child in gone if child.places is not None]
        now = self._now()
        for number, child in enumerate(ends):
            most = (now - child.at) * _cpus(child.places) if child.rest is None else child.rest
            share = min(fresh // (len(ends) - number), most)
            fresh -= share
            _count(child.places, _part(new, share), account.seen.cpu)
        _count(account.places, _part(new, fresh), account.seen.cpu)

    def _look_at_orphans(self) -> None:
        """Look at the children of parents that are gone or zombies, and so cannot have waited for them."""
        for parent, children in list(self._children.items()):
            if parent in self._accounts:
                use = self._processes.cpu(parent, exact=True)
                if use is None or use.zombie:
                    for child in list(children):
                        self.look(child, exact=True)

    def _without_orphans(self, fresh: int) -> int:
        """The unexplained ns of children's time that are left after the orphans that fit into it, which are removed."""
        left = []
        for number, orphan in enumerate(self._orphans):
            if orphan.counted <= fresh + _COARSE:
                fresh -= orphan.counted
                self._old_orphans -= number < self._old_orphans
            else:
                left.append(orphan)
        self._orphans = left
        return fresh

    def _cannot_have_waited(self, tgid: int, parent: Account, end: GoneChild) -> bool:
        """True if a process became a zombie before it could wait for a child that is gone."""
        use = self._processes.cpu(tgid, exact=True)
        if use is None or not use.zombie:
            return False
        known = parent.waited + sum(child.counted for child in parent.gone)
        return use.children.run < known + end.counted

    def _close(self, tgid: int, account: Account) -> None:
        """Close the account of a process that is gone. What its parent has waited for includes it and its children."""
        account.busy = True
        for child in list(self._children.get(tgid, ())):
            self.look(child, exact=True)
        self._drop(tgid)
        waiter = tgid in self._waiters
        self._waiters.discard(tgid)
        if account.seen.parent == _NOBODY:
            return
        known = account.waited + sum(child.counted for child in account.gone)
        end = GoneChild(account.seen.own.run + known, account.places, account.at, account.rest)
        parent = self._accounts.get(account.seen.parent)
        if parent is None or parent.rest is not None or self._cannot_have_waited(account.seen.parent, parent, end):
            self._orphans.append(end)
            return
        if waiter and not account.gone:
            return
        parent.gone.append(end)
        parent.gone += [child._replace(counted=0) for child in account.gone if child.places is not None]
        self.look(account.seen.parent)


def _waited(use: CpuUse) -> int:
    """ns of children's time, halfway between the least and the most that the shown number can stand for."""
    return use.children.run + (_COARSE // 2 if use.children.run else 0)


def _cpus(places: Places | None) -> int:
    return places[0].hierarchy.machine.cpus if places else 0


def _part(time: CpuTime, run: int) -> CpuTime:
    """`run` ns, split into user, system and nice as in `time`."""
    whole = time.user + time.system
    if not whole:
        return CpuTime(run, 0, 0, 0)
    return CpuTime(run, run * time.user // whole, run * time.system // whole, run * time.nice // whole)


def _count(places: Places | None, time: CpuTime, cpu: int) -> None:
    """Add time to the cgroups of hierarchies that count it, and to those above. Roots show the machine's instead."""
    if places is None or not any(time):
        return
    for place in places:
        if not place.hierarchy.counts_cpu:
            continue
        number = cpu % place.hierarchy.machine.cpus
        for cgroup in place.lineage():
            if cgroup.parent is not None:
                cgroup.cpu = {**cgroup.cpu, number: cgroup.cpu.get(number, _NONE).plus(time)}


_NONE = CpuTime()


def total(times: Iterable[CpuTime]) -> CpuTime:
    """The sum."""
    whole = _NONE
    for time in times:
        whole = whole.plus(time)
    return whole


def adjusted(time: CpuTime, shown: tuple[int, int]) -> tuple[int, int]:
    """User and system time with the sum `run`, neither ever less than it was `shown` (cputime_adjust)."""
    user, system = shown
    if user + system >= time.run:
        return shown
    if not time.system:
        scaled = 0
    elif not time.user:
        scaled = time.run
    else:
        scaled = time.system * time.run // (time.user + time.system)
    scaled = max(scaled, system)
    return (time.run - scaled, scaled) if time.run - scaled >= user else (user, time.run - user)
