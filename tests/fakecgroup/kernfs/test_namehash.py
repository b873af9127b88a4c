"""The order of readdir: each name's hash, then its bytes."""

from __future__ import annotations

import pytest

from fakecgroup.kernfs.namehash import in_order, name_key

NAMES = ("a", "ab", "b", "cgroup.procs", "kubepods-burstable.slice", "é", "\udcff\udc80", "x" * 255)


def folded(raw: bytes, signed_char: bool) -> int:
    """kernfs_name_hash, byte by byte as in the kernel."""
    value = 0
    for byte in raw:
        char = (byte - 256 if signed_char and byte > 127 else byte) % 2**64
        value = (value + (char << 4) + (char >> 4)) * 11 % 2**64
    value = (value * 0x61C8864680B583EB % 2**64) >> 32 & 0x7FFFFFFF
    return min(value + 2 if value < 2 else value, 0x7FFFFFFE)


@pytest.mark.parametrize("signed_char", [False, True])
@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:9]))
def test_a_key_is_the_kernels_hash_and_then_the_name(name: str, signed_char: bool) -> None:
    raw = name.encode("utf-8", "surrogateescape")
    assert name_key(name, signed_char) == folded(raw, signed_char).to_bytes(4, "big") + raw


@pytest.mark.parametrize("signed_char", [False, True])
def test_many_names_are_in_the_order_of_their_keys(signed_char: bool) -> None:
    names = [*NAMES, *map(str, range(2000))]
    assert in_order(names, signed_char) == sorted(names, key=lambda name: name_key(name, signed_char))
