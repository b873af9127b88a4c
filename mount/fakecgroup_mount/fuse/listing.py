"""A directory's entries as a READDIR reply has them, in the kernel's order and at the kernel's positions.

kernfs sorts entries by the hash of their names. An entry's position, d_off, is the hash of the entry that follows, and
a reader goes on at the first entry whose hash is not below its position (fs/kernfs/dir.c, kernfs_fop_readdir). So
nothing is kept for a reader, and what comes or goes meanwhile moves no other entry.

If that entry has gone, the kernel may begin with the one before, depending on the shape of its tree (kernfs_dir_pos).
Here none is shown twice.

Of several entries with one hash, the kernel keeps the next one with the open directory. Here the position of all but
the first of them has the entry's inode number, too, in its upper half.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from struct import Struct

from fakecgroup_mount.fuse import wire

DT_DIR = 4
END = 0x7FFFFFFF
"""The position behind the last entry (INT_MAX)."""

_WORD = 8  # bytes; a record is a number of words, and begins with the inode number
_MOST = 128  # records of a block
_BEGUN = 96  # records of a block that may grow
_HASH = 4  # bytes of a key that are the hash
_HASH_BITS = 0xFFFFFFFF
_INO_BITS = 0x7FFFFFFF  # of an inode number in a position
_NUMBER = Struct("=Q")
_LENGTH = Struct("=I")
_AT_POSITION, _AT_LENGTH, _AT_NAME = 8, 16, wire.DIRENT.size  # in a record

Entry = tuple[bytes, int, int]
"""What an entry is sorted by (`namehash.name_key`), its inode number, and its DT_ type."""


class _Block:
    """Records that follow each other, with the hash of each and its size in words."""

    __slots__ = ("data", "hashes", "sizes")

    def __init__(self, data: bytearray, hashes: array[int], sizes: array[int]) -> None:
        self.data = data
        self.hashes = hashes
        self.sizes = sizes

    def name(self, word: int) -> bytearray:
        """The name in the record that begins there."""
        at = word * _WORD
        (length,) = _LENGTH.unpack_from(self.data, at + _AT_LENGTH)
        return self.data[at + _AT_NAME : at + _AT_NAME + length]

    def ino(self, word: int) -> int:
        """The inode number in the record that begins there."""
        (ino,) = _NUMBER.unpack_from(self.data, word * _WORD)
        return int(ino)


class Listing:
    """The entries of one directory. `.` and `..` have the hashes 0 and 1, which no other name has."""

    __slots__ = ("_blocks", "_keys")

    def __init__(self, ino: int, above: int, entries: Iterable[Entry], *, grows: bool = False) -> None:
        """`entries` are sorted. `grows`: entries will be added."""
        rows = [(b"\0\0\0\0.", ino, DT_DIR), (b"\0\0\0\1..", above, DT_DIR), *entries]
        hashes = [int.from_bytes(key[:_HASH], "big") for key, _, _ in rows]
        positions = [
            _position(hash_, ino, before)
            for before, hash_, (_, ino, _) in zip(hashes, hashes[1:], rows[1:], strict=False)
        ]
        records = [
            _record(key[_HASH:], ino, position, kind)
            for (key, ino, kind), position in zip(rows, (*positions, END), strict=True)
        ]
        step = _BEGUN if grows else _MOST
        starts = range(0, len(rows), step)
        self._keys = [rows[start][0] if start else b"" for start in starts]  # no entry of a block is below its key
        self._blocks = [
            _Block(
                bytearray().join(records[start : start + step]),
                array("I", hashes[start : start + step]),
                array("H", [len(record) // _WORD for record in records[start : start + step]]),
            )
            for start in starts
        ]

    @classmethod
    def in_turn(cls, ino: int, above: int, entries: Iterable[tuple[str, int, int]]) -> Listing:
        """The listing of a directory that is no kernfs's: its names, inode numbers and DT_ types are numbered."""
        rows = enumerate(entries, start=2)
        keyed = [(number.to_bytes(_HASH, "big") + os.fsencode(name), its, kind) for number, (name, its, kind) in rows]
        return cls(ino, above, keyed)

    def alike(self, inos: Iterable[int]) -> Listing:
        """The listing of a directory that has the same names, of which no two have one hash, and these inode numbers.

        Nothing is added to either of them.
        """
        numbers = iter(inos)
        made = Listing.__new__(Listing)
        made._keys = self._keys
        made._blocks = [_Block(bytearray(block.data), block.hashes, block.sizes) for block in self._blocks]
        for block in made._blocks:
            with memoryview(block.data).cast("Q") as words:
                for word, ino in zip(accumulate(block.sizes[:-1], initial=0), numbers, strict=False):
                    words[word] = ino
        return made

    # -- reading ----------------------------------------------------------------------------------

    def part(self, position: int, limit: int) -> bytes | bytearray:
        """The records from `position` on that fit into `limit` bytes. lseek(2) allows any position."""
        blocks = self._blocks
        if not position and len(blocks) == 1 and len(blocks[0].data) <= limit:
            return blocks[0].data
        if position == END:
            return b""
        number, index = self._find(position)
        parts = []
        for block in blocks[number:]:
            data = block.data
            if index or len(data) > limit:
                start = sum(block.sizes[:index]) * _WORD
                ends = list(accumulate(block.sizes[index:]))
                fit = bisect_right(ends, limit // _WORD)
                data = data[start : start + ends[fit - 1] * _WORD] if fit else bytearray()
                parts.append(data)
                if fit < len(ends):
                    break
                index = 0
            else:
                parts.append(data)
            limit -= len(data)
        return b"".join(parts)

    def _find(self, position: int) -> tuple[int, int]:
        """The block and the index in it where a reader goes on."""
        wanted, ino = position & _HASH_BITS, position >> 32
        first = max(bisect_left(self._keys, wanted.to_bytes(_HASH, "big")) - 1, 0)
        index = bisect_left(self._blocks[first].hashes, wanted)
        if ino:
            for number, at, word in self._with_hash(wanted, first, index):
                if self._blocks[number].ino(word) & _INO_BITS == ino:
                    return number, at
        return first, index

    def _with_hash(self, wanted: int, number: int, index: int) -> Iterator[tuple[int, int, int]]:
        """The entries with one hash: block, index in it, and the word where the record begins."""
        for at, block in enumerate(self._blocks[number:], number):
            word = sum(block.sizes[:index])
            while index < len(block.hashes):
                if block.hashes[index] != wanted:
                    return
                yield at, index, word
                word += block.sizes[index]
                index += 1
            index = 0

    # -- changing ---------------------------------------------------------------------------------

    def add(self, key: bytes, ino: int, kind: int) -> None:
        """Adds an entry. There is none of this name."""
        number, index, word = self._place(key)
        block = self._blocks[number]
        hash_ = int.from_bytes(key[:_HASH], "big")
        record = _record(key[_HASH:], ino, self._next(number, index, word, hash_), kind)
        block.data[word * _WORD : word * _WORD] = record
        block.hashes.insert(index, hash_)
        block.sizes.insert(index, len(record) // _WORD)
        self._link(number, index, word)
        if len(block.hashes) > _MOST:
            self._split(number)

    def remove(self, key: bytes) -> None:
        """Removes an entry, if it is there."""
        number, index, word = self._place(key)
        block = self._blocks[number]
        if index == len(block.hashes) or block.name(word) != key[_HASH:]:
            return
        del block.data[word * _WORD : (word + block.sizes[index]) * _WORD]
        del block.hashes[index], block.sizes[index]
        if block.hashes:
            self._link(number, index, word)
        else:
            del self._blocks[number], self._keys[number]
            last = self._blocks[number - 1]
            self._link(number - 1, len(last.hashes), len(last.data) // _WORD)

    def _place(self, key: bytes) -> tuple[int, int, int]:
        """Where an entry stands, or would: the block, the index in it, and the word where its record begins."""
        number = bisect_right(self._keys, key) - 1
        block = self._blocks[number]
        hash_, name = int.from_bytes(key[:_HASH], "big"), key[_HASH:]
        index = bisect_left(block.hashes, hash_)
        word = sum(block.sizes[:index])
        while index < len(block.hashes) and block.hashes[index] == hash_ and block.name(word) < name:
            word += block.sizes[index]
            index += 1
        return number, index, word

    def _next(self, number: int, index: int, word: int, before: int) -> int:
        """The position of the entry there, as an entry with the hash `before` has it that comes right before it."""
        if index == len(self._blocks[number].hashes):
            number, index, word = number + 1, 0, 0
        if number == len(self._blocks):
            return END
        block = self._blocks[number]
        return _position(block.hashes[index], block.ino(word), before)

    def _link(self, number: int, index: int, word: int) -> None:
        """Gives the entry before this place the position of the one that is there now."""
        block = self._blocks[number if index else number - 1]
        at, end = (index, word) if index else (len(block.hashes), len(block.data) // _WORD)
        start = (end - block.sizes[at - 1]) * _WORD
        position = self._next(number, index, word, block.hashes[at - 1])
        _NUMBER.pack_into(block.data, start + _AT_POSITION, position)

    def _split(self, number: int) -> None:
        block = self._blocks[number]
        index = len(block.hashes) // 2
        word = sum(block.sizes[:index])
        rest = _Block(block.data[word * _WORD :], block.hashes[index:], block.sizes[index:])
        del block.data[word * _WORD :], block.hashes[index:], block.sizes[index:]
        self._blocks.insert(number + 1, rest)
        self._keys.insert(number + 1, rest.hashes[0].to_bytes(_HASH, "big") + rest.name(0))


def _position(hash_: int, ino: int, before: int) -> int:
    """The position of an entry that follows one with the hash `before`."""
    return hash_ if hash_ != before else hash_ | (ino & _INO_BITS) << 32


def _record(name: bytes, ino: int, position: int, kind: int) -> bytes:
    return _struct(len(name)).pack(ino, position, len(name), kind, name)


@lru_cache(maxsize=1024)
def _struct(length: int) -> Struct:
    """A record with a name of this length."""
    return Struct(f"{wire.DIRENT.format}{length}s{-(wire.DIRENT.size + length) % _WORD}x")
