"""The huge pages of processes, page by page: /proc/PID/smaps has the mappings, /proc/PID/pagemap what is there.

A page is known by its file and its place there; a mapping without a name has a file of its own too. What a process has
written to a private mapping after fork(2) is its own copy, which shows as a page that nobody else maps.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Hashable

from fakecgroup import FilePage, HugePages
from fakecgroup.late_pattern import pattern
from fakecgroup.named_tuple import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
_KIB = 1024
_VMA = pattern(rb"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) ([0-9a-f]+:[0-9a-f]+) (\d+) ", re.M)
_PAGE_SIZE = pattern(rb"^KernelPageSize:\s+(\d+) kB", re.M)
_FLAGS = pattern(rb"^VmFlags:(.*)", re.M)
_MENTIONED = b"huge"  # in /proc/PID/maps: /anon_hugepage, and files that are likely on a hugetlbfs
_ENTRY = struct.Struct("=Q")
_PRESENT, _ALONE = 1 << 63, 1 << 56  # Documentation/admin-guide/mm/pagemap.rst

_NONE = HugePages()


class Mapping(NamedTuple):
    """A mapping of huge pages: addresses, the size of a page, the file and the place in it, in bytes."""

    start: int
    end: int
    size: int
    file: tuple[bytes, bytes]
    offset: int
    shared: bool
    reserves: bool


class HugePageUse:
    """Reads the huge pages of processes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, list[Mapping]]] = {}  # by process: the text of its maps
        self._owners: dict[tuple[bytes, bytes], int] = {}  # of private mappings: who was seen first with it

    def of(self, tgid: int, touched: int) -> HugePages:
        """What a process has; `touched` is 0 if nothing of it is in memory."""
        maps = _whole(f"/proc/{tgid}/maps")
        if not touched and _MENTIONED not in maps:
            self.forget(tgid)
            return _NONE
        known = self._known.get(tgid)
        if known is None or known[0] != maps:
            known = self._known[tgid] = (maps, list(mappings_of(_whole(f"/proc/{tgid}/smaps"))))
        if not known[1]:
            return _NONE
        pages: dict[Hashable, int] = {}
        reserved: dict[Hashable, tuple[int, int]] = {}
        try:
            with open(f"/proc/{tgid}/pagemap", "rb", buffering=0) as pagemap:
                for one in known[1]:
                    self._take(tgid, one, pagemap.fileno(), pages, reserved)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return _NONE
        return HugePages(pages, reserved, frozenset(one.file for one in known[1] if one.shared))

    def _take(
        self,
        tgid: int,
        one: Mapping,
        pagemap: int,
        pages: dict[Hashable, int],
        reserved: dict[Hashable, tuple[int, int]],
    ) -> None:
        owns = one.shared or self._owners.setdefault(one.file, tgid) == tgid
        if owns and one.reserves:
            size, amount = reserved.get(one.file, (one.size, 0))
            reserved[one.file] = (size, amount + one.end - one.start)
        for address in range(one.start, one.end, one.size):
            entry = os.pread(pagemap, _ENTRY.size, address // _PAGE * _ENTRY.size)
            flags = _ENTRY.unpack(entry)[0] if len(entry) == _ENTRY.size else 0
            if flags & _PRESENT:
                place = one.offset + address - one.start
                copied = not owns and bool(flags & _ALONE)
                key: Hashable = FilePage(one.file, place) if one.shared else (one.file, place, copied and tgid)
                pages[key] = one.size
                if copied or (owns and not one.reserves):
                    reserved[key] = (one.size, one.size)

    def forget(self, tgid: int) -> None:
        """The process is gone, or has no huge pages."""
        if self._known.pop(tgid, None) is not None:
            mapped = {one.file for _, mappings in self._known.values() for one in mappings}
            self._owners = {file: owner for file, owner in self._owners.items() if file in mapped}


def mappings_of(smaps: bytes) -> list[Mapping]:
    """The mappings of huge pages in the text of /proc/PID/smaps."""
    found = []
    starts = list(_VMA().finditer(smaps))
    for number, vma in enumerate(starts):
        rest = smaps[vma.end() : starts[number + 1].start() if number + 1 < len(starts) else None]
        flags = _FLAGS().search(rest)
        size = _PAGE_SIZE().search(rest)
        words = flags.group(1).split() if flags is not None else []
        if b"ht" in words and size is not None:
            start, end, permissions, offset, device, inode = vma.groups()
            found.append(
                Mapping(
                    int(start, 16),
                    int(end, 16),
                    int(size.group(1)) * _KIB,
                    (device, inode),
                    int(offset, 16),
                    permissions[3:] == b"s",
                    b"nr" not in words,
                )
            )
    return found


def _whole(path: str) -> bytes:
    """All of a file in /proc; empty if it is gone or we may not read it."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
