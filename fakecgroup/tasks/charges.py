"""Charges of real processes' memory to cgroups.

Memory is charged to the cgroup that its process is in when it starts to use it, and stays charged there when the
process moves, until it is freed. The model cannot see which page is freed, so it assumes the latest. A process that
executes another program frees all of it. A page fault counts in the cgroup that the process is in at the time.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple
from .usage import Faults, MemoryUse

if TYPE_CHECKING:
    from .place import Place
    from .processes import Processes
    from .tid import Tid
    from .usage import ProcessMemory

NOTHING = MemoryUse()
#: Bits of memory.move_charge_at_immigrate: the kinds of pages that move (MOVE_ANON, MOVE_FILE; shared memory is FILE).
ANON, FILE = 1, 2


class Charge:
    """The bytes that one process has charged to one cgroup."""

    __slots__ = ("cgroup", "use")

    cgroup: Place
    use: MemoryUse

    def __init__(self, cgroup: Place) -> None:
        self.cgroup = cgroup
        self.use = NOTHING


class Account:
    """One process: its program (`image`), its charges (latest last), bytes `resident` now, their `peak`, and the page
    faults that are already counted.
    """

    __slots__ = ("charges", "faults", "image", "peak", "resident")

    image: object
    charges: list[Charge]
    peak: int
    resident: int
    faults: Faults

    def __init__(self, image: object, cgroup: Place, peak: int) -> None:
        self.image = image
        self.charges = [Charge(cgroup)]
        self.peak = peak
        self.resident = 0
        self.faults = Faults()


class Forked(NamedTuple):
    """A process that was forked in a cgroup and has no account yet. It had at most `resident` bytes so far."""

    cgroup: Place
    resident: int


class MemoryCharges:
    """The memory of the processes that are or were in a cgroup.

    A process that was forked there has its account from the first look on. Many end before it.
    """

    _accounts: dict[Tid, Account]
    _forked: dict[Tid, Forked]
    _spread: set[Tid]  # those with charges in several cgroups

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._accounts = {}
        self._forked = {}
        self._spread = set()

    def __bool__(self) -> bool:
        return bool(self._accounts or self._forked)

    @property
    def without_account(self) -> Collection[Tid]:
        """The processes that a look would open an account for."""
        return self._forked.keys()

    def charged_in(self, tgid: int) -> MemoryUse:
        """What a process has charged to the cgroup that it is in."""
        account = self._accounts.get(tgid)
        return account.charges[-1].use if account is not None else NOTHING

    def held_by(self, tgid: int) -> MemoryUse:
        """What a process has charged, wherever."""
        account = self._accounts.get(tgid)
        use = NOTHING
        for charge in account.charges if account is not None else ():
            use = use.plus(charge.use)
        return use

    def charged_places(self, tgid: int) -> list[Place]:
        """Where a process has been charged since its fork or its last execve(2), the latest last."""
        account = self._accounts.get(tgid)
        if account is None:
            return [self._forked[tgid].cgroup] if tgid in self._forked else []
        return [charge.cgroup for charge in account.charges]

    def start(self, tgid: int, cgroup: Place) -> None:
        """Note that a process was forked in this cgroup: all its memory is charged there."""
        if tgid not in self._accounts and tgid not in self._forked:
            self._forked[tgid] = Forked(cgroup, self._processes.resident(tgid))

    def move(self, tgid: int, cgroup: Place, takes: int = 0) -> None:
        """Note that a process is about to be in this cgroup.

        Its charges stay where they are, but for the kinds that it `takes` along (ANON, FILE) from the cgroup that it
        leaves (memory.move_charge_at_immigrate, get_mctgt_type).
        """
        if tgid in self._forked:
            self.look(tgid)
        account = self._accounts.get(tgid)
        if account is None:
            memory = self._processes.memory(tgid)
            if cgroup.parent is None or not memory.resident:
                return
            account = self._accounts[tgid] = Account(memory.image, cgroup.hierarchy.root, memory.peak)
            account.charges[0].use = memory.use
            account.faults = memory.faults
        elif account.charges[-1].cgroup is cgroup:
            return
        self.look(tgid)
        here = account.charges[-1].cgroup if account.charges else None
        moved = Charge(cgroup)
        for charge in account.charges:
            if takes and charge.cgroup is here:
                part = _movable(charge.use, takes)
                self._apply(charge, NOTHING.less(part))
                self._apply(moved, part)
        account.charges.append(moved)
        self._spread.add(tgid)
        self.look(tgid)

    def look_at_spread(self) -> None:
        """Bring the charges of all processes with charges in several cgroups up to date."""
        for tgid in list(self._spread):
            self.look(tgid)

    def close(self, tgid: int) -> None:
        """Close the account of a process that is gone: free all its charges."""
        account = self._accounts.pop(tgid, None)
        self._forked.pop(tgid, None)
        self._spread.discard(tgid)
        if account is not None:
            for charge in account.charges:
                self._apply(charge, NOTHING.less(charge.use))

    def exited(self, tgid: int, peak: int) -> None:
        """Note that a process has exited that had at most `peak` bytes resident."""
        account = self._accounts.get(tgid)
        if account is not None and peak > account.peak:
            self.note_peak(account.charges[-1].cgroup, peak - account.resident)
            account.peak = peak
        forked = self._forked.get(tgid)
        if forked is not None and peak > forked.resident:
            self.note_peak(forked.cgroup, peak - forked.resident)
            self._forked[tgid] = forked._replace(resident=peak)

    def note_peak(self, cgroup: Place, more: int) -> None:
        """Note that for a moment a cgroup was charged `more` bytes on top of what it has now."""
        if more > 0:
            for above in cgroup.lineage():
                above.memory_changed(more)

    def look(self, tgid: int) -> ProcessMemory | None:
        """Bring the charges of a process up to date. Returns what it has; None without an account."""
        account = self._accounts.get(tgid)
        forked = self._forked.pop(tgid, None) if account is None else None
        if account is None and forked is None:
            return None
        memory = self._processes.memory(tgid)
        if account is None:
            assert forked is not None
            account = self._accounts[tgid] = Account(memory.image, forked.cgroup, 0)
        self._count_faults(account, memory.faults)
        if not memory.resident:
            self.close(tgid)
            return memory
        if memory.image != account.image:
            for charge in account.charges[:-1]:
                self._apply(charge, NOTHING.less(charge.use))
            del account.charges[:-1]
            self._spread.discard(tgid)
            account.image, account.peak = memory.image, 0
        spike = memory.peak - memory.resident if memory.peak > account.peak else 0
        account.peak = max(memory.peak, account.peak)
        account.resident = memory.resident
        change = memory.use
        for charge in account.charges:
            change = change.less(charge.use)
        for charge in reversed(account.charges):
            if charge is account.charges[0]:
                part = change
            else:
                part = MemoryUse(*(max(more, -has) for more, has in zip(change, charge.use, strict=True)))
            change = change.less(part)
            if any(part) or (spike and charge is account.charges[-1]):
                self._apply(charge, part, spike)
            spike = 0
        return memory

    @staticmethod
    def _count_faults(account: Account, faults: Faults) -> None:
        fresh = faults.less(account.faults)
        if any(fresh):
            account.faults = account.faults.plus(fresh)
            here = account.charges[-1].cgroup
            here.faults_here = here.faults_here.plus(fresh)
            for cgroup in here.lineage():
                cgroup.faults = cgroup.faults.plus(fresh)

    def _apply(self, charge: Charge, change: MemoryUse, spike: int = 0) -> None:
        charge.use = charge.use.plus(change)
        charge.cgroup.memory_here = charge.cgroup.memory_here.plus(change)
        for cgroup in charge.cgroup.lineage():
            cgroup.memory = cgroup.memory.plus(change)
            cgroup.memory_changed(spike)


def _movable(use: MemoryUse, kinds: int) -> MemoryUse:
    """The pages of these kinds. Kernel stacks and page tables never move. Locked pages are assumed to be among them."""
    anon = use.anon if kinds & ANON else 0
    file, shmem = (use.file, use.shmem) if kinds & FILE else (0, 0)
    locked = min(use.locked, anon + file + shmem)
    return MemoryUse(
        anon,
        file,
        shmem,
        huge=use.huge if anon else 0,
        locked=locked,
        swap=use.swap if kinds & ANON else 0,
        cold=use.cold if file else 0,
    )
