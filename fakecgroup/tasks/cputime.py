"""Which cgroup the CPU time of real processes is counted in.

Nobody tells of time that is spent: a process is looked at when it moves, when it exits, when somebody reads, and now
and then. What it has used since the last look goes to the cgroups in which it was (and those above), for good. Children
that came and went unseen are found in what their parent has waited for; so is what a child used between the last look
at it and its end. That is how no time is counted twice: of what a parent has waited for, the part that was counted
already is known for every child that was ever looked at. A child that outlived its parent may have been waited for by
any process above; the first whose unexplained time it fits into is taken for it.

Where processes `end` here before they exit, only deaths by signals are left to be found that way; and where all that
have `ended` are told of with what they used, nothing is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .usage import CpuTime, CpuUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .place import Places
    from .processes import End, Processes

_COARSE = 20_000_000  # ns by which what was waited for may be shown too small: two numbers in 1/100 s
_ATTEMPTS = 4  # to see a process and its children at one moment
_BUSY = 1_000_000  # ns between two looks, from which on a process is not idle


class Gone(NamedTuple):
    """A child that is there no more: the ns of it that are counted, where it was, when it was last looked at, and the
    most ns that it used after that (None: as much as has passed).
    """

    counted: int
    places: Places | None
    at: int
    rest: int | None = None


class Apart(NamedTuple):
    """A thread that is in other cgroups than its leader, and the ns that it had run at the last look."""

    places: Places
    run: int


class Account:
    """A process: where it is (None: nowhere that counts), what was seen of it, and of what it has waited for, the ns
    that are counted. One that has told its end uses `rest` ns at most from then on, and waits for nobody.
    """

    __slots__ = ("apart", "at", "busy", "ended", "gone", "places", "rest", "seen", "waited")

    def __init__(self, places: Places | None, seen: CpuUse, waited: int, at: int) -> None:
        self.places = places
        self.seen = seen
        self.waited = waited
        self.at = at
        self.gone: list[Gone] = []
        self.apart: dict[int, Apart] = {}
        self.busy = False  # with its children
        self.rest: int | None = None
        self.ended = False  # whether nothing more will be told of it


class CpuAccounts:
    """The accounts of the processes that are or were in a cgroup, and of those that wait for them."""

    def __init__(self, processes: Processes, now: Callable[[], int]) -> None:
        self._processes = processes
        self._now = now
        self._accounts: dict[int, Account] = {}
        self._children: dict[int, set[int]] = {}  # of those with an account, by their parent as it was seen last
        self._orphans: list[Gone] = []  # whoever has waited for them
        self._old_orphans = 0  # how many of the first were there at the last look at all
        self.told_of_ends = False  # whether all are told to `ended`
        self._missing: set[int] = set()  # of whom it is not told yet though they are gone
        self.busy = False  # whether any ran since this was set to False
        self._waiters: set[int] = set()  # those that are only waited by

    def __bool__(self) -> bool:
        return len(self._accounts) > len(self._waiters)

    def __contains__(self, tgid: int) -> bool:
        return tgid in self._accounts

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
        """A process was forked in these cgroups: all that it has used counts there."""
        use = self._processes.cpu(tgid)
        if use is None:
            if self.told_of_ends:
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

    def end(self, tgid: int, rest: int) -> None:
        """A process is about to exit, which takes `rest` ns at most: all that it has used by now is counted, and all
        of those that it has waited for.
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

    def ended(self, end: End) -> None:
        """Of a process that is known, what is not counted yet is; of others all, where they were forked."""
        account = self._accounts.get(end.tgid)
        if account is None:
            if end.whole is not None:
                _count(end.places, end.whole, 0)
            return
        thread = account.apart.pop(end.tid, None)
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
        """A process is about to be in these cgroups; what it used before stays where it was."""
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
        """A thread is in other cgroups than its leader from now on; with None it is not."""
        account = self._accounts.get(tgid)
        if account is None:
            use = self._processes.cpu(tgid) if places is not None else None
            if use is None:
                return
            account = self._open(tgid, Account(None, use, _waited(use), self._now()))
        elif (None if tid not in account.apart else account.apart[tid].places) == places:
            return
        self.look(tgid)
        account.apart.pop(tid, None)
        if places is not None:
            account.apart[tid] = Apart(places, self._processes.thread_cpu(tid))

    def look_at_all(self) -> set[int]:
        """Returns those that have run since they were looked at last, or are gone."""
        missing, self._missing = self._missing, set()
        ran = {tgid for tgid in list(self._accounts) if self.look(tgid)}
        for tgid in missing & self._missing & self._accounts.keys():
            self._drop(tgid)  # what is told of it was lost
        used = {account.seen.parent for tgid, account in self._accounts.items() if tgid not in self._waiters}
        for tgid in self._waiters - used:
            if tgid in self._accounts:
                self._drop(tgid)
        self._waiters &= used
        del self._orphans[: self._old_orphans]
        self._old_orphans = len(self._orphans)
        return ran

    def look(self, tgid: int, *, exact: bool = False) -> bool:
        """Counts what a process has used since the last look, if anything; `exact` as in `Processes.cpu`. One that is
        gone is looked for in what its parent has waited for.
        """
        account = self._accounts.get(tgid)
        if account is None or account.busy:
            return False
        use = self._processes.cpu(tgid, exact=exact or bool(account.gone))
        if self.told_of_ends:
            return self._look_at_one(tgid, account, use)
        if use is account.seen and not account.gone:
            account.at = self._now()
            return False
        # A child that is being looked at further up may be gone and not known to be: there is a later look.
        put_off = any(self._accounts[child].busy for child in self._children.get(tgid, ()))
        if use is not None and put_off:
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
        if not put_off and (use is not seen or account.gone):
            self._count_children(account, use.children.less(seen.children))
        account.at = self._now()
        if account.places is not None and tgid not in self._waiters:
            self._know_parent(use.parent)
        return True

    def _look_at_one(self, tgid: int, account: Account, use: CpuUse | None) -> bool:
        """Where what others used need not be found in it."""
        seen = account.seen
        if use is None or use.start != seen.start:
            if account.ended:
                self._drop(tgid)
            else:
                self._missing.add(tgid)
            return True
        if use is seen:
            return False
        own = CpuTime(*map(max, use.own, seen.own))  # a thread that is told of as ended may be missing in its clock
        self._see(tgid, account, use if own == use.own else use._replace(own=own))
        if own == seen.own:
            return False
        self._count_own(account, own.less(seen.own))
        return True

    def _look_at_children(self, tgid: int, account: Account, use: CpuUse) -> CpuUse | None:
        """Finds which of its known children a process has waited for, before that is taken for the time of others;
        returns what it has used by then.
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
        """Notes what the parent of a process in a cgroup has waited for until now, if that is not known anyway."""
        if self.told_of_ends:
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
        for tid, thread in list(account.apart.items()):
            run = self._processes.thread_cpu(tid)
            if not run:
                del account.apart[tid]  # the rest of it counts where the leader is
                continue
            share = min(max(0, run - thread.run), used.run)  # its clock was read after that of the process
            part = _part(used, share)
            used = used.less(part)
            account.apart[tid] = thread._replace(run=thread.run + share)
            _count(thread.places, part, account.seen.cpu)
        _count(account.places, used, account.seen.cpu)

    def _count_children(self, account: Account, new: CpuTime) -> None:
        """Counts what is new of what was waited for.

        It is the end of the children that are gone, as far as they had the time for it, and else children that nobody
        ever saw, which were where their parent is.
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
        """Finds those that are gone and had parents which cannot have waited for them."""
        for parent, children in list(self._children.items()):
            if parent in self._accounts:
                use = self._processes.cpu(parent, exact=True)
                if use is None or use.zombie:
                    for child in list(children):
                        self.look(child, exact=True)

    def _without_orphans(self, fresh: int) -> int:
        """What is left of the time that a process has waited for and nobody explains, without those that fit in."""
        left = []
        for number, orphan in enumerate(self._orphans):
            if orphan.counted <= fresh + _COARSE:
                fresh -= orphan.counted
                self._old_orphans -= number < self._old_orphans
            else:
                left.append(orphan)
        self._orphans = left
        return fresh

    def _cannot_have_waited(self, tgid: int, parent: Account, end: Gone) -> bool:
        """Whether a process was a zombie before it could wait for a child that is gone."""
        use = self._processes.cpu(tgid, exact=True)
        if use is None or not use.zombie:
            return False
        known = parent.waited + sum(child.counted for child in parent.gone)
        return use.children.run < known + end.counted

    def _close(self, tgid: int, account: Account) -> None:
        """A process is gone. What of its children was counted is in what its parent has waited for, like itself."""
        account.busy = True
        for child in list(self._children.get(tgid, ())):
            self.look(child, exact=True)
        self._drop(tgid)
        waiter = tgid in self._waiters
        self._waiters.discard(tgid)
        known = account.waited + sum(child.counted for child in account.gone)
        end = Gone(account.seen.own.run + known, account.places, account.at, account.rest)
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
    """ns that a process has waited for, halfway between the least and the most that is shown that way."""
    return use.children.run + (_COARSE // 2 if use.children.run else 0)


def _cpus(places: Places | None) -> int:
    return places[0].hierarchy.machine.cpus if places else 0


def _part(time: CpuTime, run: int) -> CpuTime:
    """`run` ns, user and system as they are in `time`."""
    whole = time.user + time.system
    if not whole:
        return CpuTime(run, 0, 0, 0)
    return CpuTime(run, run * time.user // whole, run * time.system // whole, run * time.nice // whole)


def _count(places: Places | None, time: CpuTime, cpu: int) -> None:
    """Adds to the cgroups of each hierarchy that counts CPU time, and to those above them. Roots show the machine's."""
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
    """User and system time that make up `run`, neither ever less than it was `shown` (cputime_adjust)."""
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
