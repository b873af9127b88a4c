"""A directory's entries as a READDIR reply has them."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Listed
from fakecgroup_mount.fuse import wire

DT_DIR = 4
_MOST = 64  # listings that are kept
_WORD = 8  # bytes; records begin on a word, with the inode number
_LARGE = 1000  # entries of a directory that shares no records with others
_PADS = tuple(bytes(length) for length in range(_WORD))


class Listing:
    """The entries (name, ino, DT_ type) of one directory at one moment, as consecutive FUSE dirents.

    An entry's offset is the end of its record, so a reader that passes it gets the next entry.
    """

    __slots__ = ("_bounds", "_records")

    def __init__(self, entries: Sequence[tuple[str, int, int]]) -> None:
        names, inos, kinds = zip(*entries, strict=True)
        if len(names) >= _LARGE:
            self._records, self._bounds = _packed(names, inos, kinds)
            return
        records, self._bounds = _shared(names, kinds)
        self._records = bytearray(records)
        with memoryview(self._records).cast("Q") as words:
            for start, ino in zip(self._bounds, inos, strict=False):
                words[start // _WORD] = ino

    @property
    def is_large(self) -> bool:
        """Whether it shares no records with others."""
        return len(self._bounds) > _LARGE

    def part(self, offset: int, limit: int) -> bytes:
        """The records from `offset` on that fit into `limit` bytes; none for an offset that is no entry's."""
        start = self._bounds[bisect_right(self._bounds, offset) - 1]
        if start != offset:  # lseek(2) allows any offset
            return b""
        end = self._bounds[bisect_right(self._bounds, start + limit) - 1]
        return bytes(self._records[start:end])


class Listings:
    """The listings of the directories that were listed last. A child that comes or goes has its parent's dropped."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Cgroup, tuple[list[Listed], Listing]] = OrderedDict()

    def find(self, cgroup: Cgroup, files: list[Listed]) -> Listing | None:
        """The listing of a cgroup that has these files, if it is kept."""
        known = self._kept.get(cgroup)
        if known is None or known[0] is not files:
            return None
        self._kept.move_to_end(cgroup)
        return known[1]

    def keep(self, cgroup: Cgroup, files: list[Listed], listing: Listing) -> None:
        """Keeps a listing if it is not large."""
        if listing.is_large:
            return
        self._kept[cgroup] = files, listing
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def drop(self, cgroup: Cgroup) -> None:
        self._kept.pop(cgroup, None)


@lru_cache(maxsize=64)
def _shared(names: tuple[str, ...], kinds: tuple[int, ...]) -> tuple[bytes | bytearray, array[int]]:
    """Records with inode number 0. Most listed cgroups have the same files, and so share them."""
    return _packed(names, (0,) * len(names), kinds)


def _packed(names: Sequence[str], inos: Sequence[int], kinds: Sequence[int]) -> tuple[bytes | bytearray, array[int]]:
    """Records, their start offsets, and the end of the last one."""
    raws = "\0".join(names).encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()).split(b"\0")
    lengths = list(map(len, raws))
    pads = [_PADS[-(wire.DIRENT.size + length) % _WORD] for length in lengths]
    sizes = [wire.DIRENT.size + length + len(pad) for length, pad in zip(lengths, pads, strict=True)]
    bounds = array("Q", accumulate(sizes, initial=0))
    heads = map(wire.DIRENT.pack, inos, bounds[1:], lengths, kinds)
    return b"".join(chain.from_iterable(zip(heads, raws, pads, strict=True))), bounds
