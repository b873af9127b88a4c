"""Amounts of memory as people and Kubernetes write them."""

from __future__ import annotations

from ..late_pattern import pattern

_FACTORS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
}

_SIZE = pattern(r"([0-9]+)([kMGT]|[KMGT]i)?")

SUFFIXES = "Ki Mi Gi Ti (powers of 1024), k M G T (powers of 1000), none (bytes)"


def parse_size(text: str) -> int:
    """Bytes of `8Gi`, `8G` or `8589934592`. Raises ValueError for anything else."""
    match = _SIZE().fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size; write a whole number and a suffix: {SUFFIXES}")
    return int(match[1]) * _FACTORS[match[2] or ""]
