"""Which cgroup the memory of real processes is charged to.

Memory is charged to the cgroup in which its process was when it began to use it, and stays there when the process
moves on, until it is given back. Which page is given back nobody tells: the latest is assumed. A process that executes
another program gives all of it back. Page faults count where a process is at the time, and stay there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .usage import Faults, MemoryUse

if TYPE_CHECKING:
    from .place import Place
    from .tasks import Processes

NOTHING = MemoryUse()
#: What memory.move_charge_at_immigrate has move (MOVE_ANON, MOVE_FILE); shared memory is a file's.
ANON, FILE = 1, 2


class Charge:
    """What one process has charged to one cgroup."""

    __slots__ = ("cgroup", "use")

    def __init__(self, cgroup: Place) -> None:
        self.cgroup = cgroup
        self.use = NOTHING


class Account:
    """A process: its program, what it has charged, the latest last, what is resident, the most that ever was, and those
    of its page faults that are counted.
    """

    __slots__ = ("charges", "faults", "image", "peak", "resident")

    def __init__(self, image: object, cgroup: Place, peak: int) -> None:
        self.image = image
        self.charges = [Charge(cgroup)]
        self.peak = peak
        self.resident = 0
        self.faults = Faults()


class MemoryCharges:
    """The memory of the processes that are or were in a cgroup."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._accounts: dict[int, Account] = {}
        self._spread: set[int] = set()  # those with charges in several cgroups

    def __bool__(self) -> bool:
        return bool(self._accounts)

    def start(self, tgid: int, cgroup: Place) -> None:
        """A process was forked in this cgroup: all of it is charged there."""
        if tgid not in self._accounts:
            memory = self._processes.memory(tgid)
            self._accounts[tgid] = Account(memory.image, cgroup, 0)
            self.look(tgid)

    def move(self, tgid: int, cgroup: Place, takes: int = 0) -> None:
        """A process is about to be in this cgroup; what it has stays charged where it is, but for what it `takes` along
        of what the cgroup has in which it was: ANON, FILE (memory.move_charge_at_immigrate, get_mctgt_type).
        """
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
        for tgid in list(self._spread):
            self.look(tgid)

    def end(self, tgid: int) -> None:
        """The process is gone."""
        account = self._accounts.pop(tgid, None)
        self._spread.discard(tgid)
        if account is not None:
            for charge in account.charges:
                self._apply(charge, NOTHING.less(charge.use))

    def ended(self, tgid: int, peak: int) -> None:
        """A process has exited that had so many bytes resident at most, as far as it is known."""
        account = self._accounts.get(tgid)
        if account is not None and peak > account.peak:
            self.passed(account.charges[-1].cgroup, peak - account.resident)
            account.peak = peak

    def passed(self, cgroup: Place, more: int) -> None:
        """So many bytes more than now were charged to a cgroup for a moment."""
        if more > 0:
            for above in cgroup.lineage():
                above.memory_changed(more)

    def look(self, tgid: int) -> None:
        """Brings the charges of a process up to date."""
        account = self._accounts.get(tgid)
        if account is None:
            return
        memory = self._processes.memory(tgid)
        self._count_faults(account, memory.faults)
        if not memory.resident:
            self.end(tgid)
            return
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
    """The pages of these kinds; kernel stacks and page tables never move. Locked ones are taken to be among them."""
    anon = use.anon if kinds & ANON else 0
    file, shmem = (use.file, use.shmem) if kinds & FILE else (0, 0)
    locked = min(use.locked, anon + file + shmem)
    return MemoryUse(anon, file, shmem, huge=use.huge if anon else 0, locked=locked)
