"""The order of readdir in kernfs: by hash of the name (fs/kernfs/dir.c, kernfs_name_hash)."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import lru_cache
from operator import mul

_MASK = (1 << 64) - 1
_GOLDEN_RATIO_64 = 0x61C8864680B583EB
_INT_MAX = 0x7FFFFFFF


def name_key(name: str, signed_char: bool) -> bytes:
    """What `name` is sorted by: its hash, then its bytes (kernfs_name_compare).

    `signed_char`: a byte over 0x7f counts as negative, as in kernels before 6.2.
    """
    return _key(os.fsencode(name), _PARTS[signed_char])


def in_order(names: Collection[str], signed_char: bool) -> list[str]:
    """Many names in the order of readdir."""
    parts = _PARTS[signed_char]
    raws = "\0".join(names).encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()).split(b"\0")
    keys = iter([_key(raw, parts) for raw in raws])
    return sorted(names, key=lambda _: next(keys))


def _key(raw: bytes, parts: tuple[int, ...]) -> bytes:
    """The kernel folds one byte after the other in: (value + (byte << 4) + (byte >> 4)) * 11 (partial_name_hash).

    So each byte counts with a power of 11.
    """
    folded: int = sum(map(mul, map(parts.__getitem__, raw), _powers(len(raw))))
    value = (folded * _GOLDEN_RATIO_64 & _MASK) >> 32 & _INT_MAX
    if value < 2:
        value += 2
    return min(value, _INT_MAX - 1).to_bytes(4, "big") + raw


def _part(byte: int, signed_char: bool) -> int:
    char = (byte - 256 if signed_char and byte > 127 else byte) & _MASK  # an unsigned long
    return (char << 4) + (char >> 4)


_PARTS = tuple(tuple(_part(byte, signed) for byte in range(256)) for signed in (False, True))


@lru_cache(maxsize=256)
def _powers(length: int) -> tuple[int, ...]:
    return tuple(pow(11, length - at, 1 << 64) for at in range(length))
