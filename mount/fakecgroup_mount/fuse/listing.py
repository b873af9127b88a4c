"""A directory's entries as a READDIR reply has them."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from fakecgroup_mount.fuse import wire

DT_DIR = 4
_WORD = 8  # bytes; records begin on a word, with the inode number


class Listing:
    """The entries (name, ino, DT_ type) of one directory at one moment, as consecutive FUSE dirents.

    An entry's offset is the end of its record, so a reader that passes it gets the next entry.
    """

    __slots__ = ("_bounds", "_records")

    def __init__(self, entries: Sequence[tuple[str, int, int]]) -> None:
        names, inos, kinds = zip(*entries, strict=True)
        records, self._bounds = _records(names, kinds)
        self._records = bytearray(records)
        with memoryview(self._records).cast("Q") as words:
            for start, ino in zip(self._bounds, inos, strict=False):
                words[start // _WORD] = ino

    def part(self, offset: int, limit: int) -> bytes:
        """The records from `offset` on that fit into `limit` bytes; none for an offset that is no entry's."""
        start = self._bounds[bisect_right(self._bounds, offset) - 1]
        if start != offset:  # lseek(2) allows any offset
            return b""
        end = self._bounds[bisect_right(self._bounds, start + limit) - 1]
        return bytes(self._records[start:end])


@lru_cache(maxsize=64)
def _records(names: tuple[str, ...], kinds: tuple[int, ...]) -> tuple[bytes, list[int]]:
    """Records with inode number 0, their start offsets, and the end of the last one.

    Most listed cgroups have the same files, and so share the records.
    """
    records, bounds = bytearray(), [0]
    for name, kind in zip(names, kinds, strict=True):
        raw = os.fsencode(name)
        raw_end = len(records) + wire.DIRENT.size + len(raw)
        end = raw_end + -raw_end % _WORD
        records += wire.DIRENT.pack(0, end, len(raw), kind) + raw + bytes(end - raw_end)
        bounds.append(end)
    return bytes(records), bounds
