"""The order of readdir in kernfs: by hash of the name (fs/kernfs/dir.c, kernfs_name_hash)."""

from __future__ import annotations

import os
from functools import lru_cache

_MASK = (1 << 64) - 1
_GOLDEN_RATIO_64 = 0x61C8864680B583EB
_INT_MAX = 0x7FFFFFFF


@lru_cache(maxsize=65536)
def name_hash(name: str, signed_char: bool) -> tuple[int, bytes]:
    """The sort key of `name`. `signed_char`: a byte over 0x7f counts as negative, as in kernels before 6.2."""
    raw = os.fsencode(name)
    value = 0
    for byte in raw:
        char = (byte - 256 if signed_char and byte > 127 else byte) & _MASK  # an unsigned long
        value = (value + (char << 4) + (char >> 4)) * 11 & _MASK
    value = (value * _GOLDEN_RATIO_64 & _MASK) >> 32 & _INT_MAX
    if value < 2:
        value += 2
    return min(value, _INT_MAX - 1), raw
