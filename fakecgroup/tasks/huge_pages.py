"""Huge pages that real processes have (mm/hugetlb_cgroup.c).

A page is charged to the cgroup that its process is in when it touches it, and a reservation to that of who maps it.
Both stay charged there until nobody has them, wherever the process moves. Nothing is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from .processes import Processes
    from .usage import ProcessMemory


class FilePage(NamedTuple):
    """A page of a file, which stays while somebody maps the file."""

    file: Hashable
    place: int


class HugePages(NamedTuple):
    """What a process has. `pages` are sizes in bytes, by what tells a page from all others: a `FilePage` is in each
    process that uses it. `reserved` are a size and bytes, by what tells a mapping from others. `files` are mapped.
    """

    pages: Mapping[Hashable, int] = {}
    reserved: Mapping[Hashable, tuple[int, int]] = {}
    files: frozenset[Hashable] = frozenset()


@runtime_checkable
class HugePageCounter(Protocol):
    """What huge pages are charged to (`Hugetlb`)."""

    def count(self, size: int, more: int, *, reserved: bool) -> None:
        """Count bytes more, or less, of pages of a size, in use or reserved."""


class _Charge:
    """What is charged for one page or mapping, to whom, and the processes that have it."""

    __slots__ = ("amount", "counter", "holders", "reserved", "size")

    def __init__(self, counter: HugePageCounter, size: int, reserved: bool) -> None:
        self.counter = counter
        self.size = size
        self.reserved = reserved
        self.amount = 0
        self.holders: set[int] = set()

    def take(self, amount: int) -> None:
        if amount != self.amount:
            self.counter.count(self.size, amount - self.amount, reserved=self.reserved)
            self.amount = amount


class HugePageCharges:
    """The huge pages of the processes that are or were in a cgroup. `counter_of` is where a process is charged now."""

    def __init__(self, processes: Processes, counter_of: Callable[[int], HugePageCounter | None]) -> None:
        self._processes = processes
        self._counter_of = counter_of
        self._held: dict[int, HugePages] = {}
        self._charges: dict[tuple[bool, Hashable], _Charge] = {}
        self._mapped: dict[Hashable, int] = {}  # how many processes map a file

    def __bool__(self) -> bool:
        return bool(self._held)

    def look(self, tgid: int, memory: ProcessMemory | None = None) -> None:
        """Bring what a process has up to date. `memory` is what it was seen to have just now."""
        has = (self._processes.memory(tgid) if memory is None else memory).huge_pages
        had = self._held.get(tgid, _NONE)
        if has == had:
            return
        for file in has.files - had.files:
            self._mapped[file] = self._mapped.get(file, 0) + 1
        for key in had.pages.keys() - has.pages.keys():
            self._drop(tgid, (False, key))
        for key in had.reserved.keys() - has.reserved.keys():
            self._drop(tgid, (True, key))
        for key, size in has.pages.items():
            self._hold(tgid, (False, key), size, size)
        for key, (size, amount) in has.reserved.items():
            self._hold(tgid, (True, key), size, amount)
        for file in had.files - has.files:
            self._unmap(file)
        if has == _NONE:
            self._held.pop(tgid, None)
        else:
            self._held[tgid] = has

    def look_at_all(self) -> None:
        """Bring what all have up to date that had huge pages at the last look."""
        for tgid in list(self._held):
            self.look(tgid)

    def _hold(self, tgid: int, key: tuple[bool, Hashable], size: int, amount: int) -> None:
        charge = self._charges.get(key)
        if charge is None:
            counter = self._counter_of(tgid)
            if counter is None:
                return
            charge = self._charges[key] = _Charge(counter, size, reserved=key[0])
        charge.holders.add(tgid)
        charge.take(max(charge.amount, amount) if len(charge.holders) > 1 else amount)

    def _drop(self, tgid: int, key: tuple[bool, Hashable]) -> None:
        charge = self._charges.get(key)
        if charge is not None:
            charge.holders.discard(tgid)
            if not charge.holders and not (isinstance(key[1], FilePage) and key[1].file in self._mapped):
                charge.take(0)
                del self._charges[key]

    def _unmap(self, file: Hashable) -> None:
        self._mapped[file] -= 1
        if not self._mapped[file]:
            del self._mapped[file]
            for key in [key for key in self._charges if isinstance(key[1], FilePage) and key[1].file == file]:
                self._charges.pop(key).take(0)


_NONE = HugePages()
