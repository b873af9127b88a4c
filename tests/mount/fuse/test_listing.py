"""Entries of a directory as FUSE dirents, in parts."""

from __future__ import annotations

import os

import pytest

from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.listing import Listing

Entry = tuple[str, int, int]


def read_back(listing: Listing, limit: int) -> list[Entry]:
    """The entries, read in parts of up to `limit` bytes, as the kernel module does."""
    found: list[Entry] = []
    offset = 0
    while part := listing.part(offset, limit):
        at = 0
        while at < len(part):
            ino, offset, length, kind = wire.DIRENT.unpack_from(part, at)
            begin = at + wire.DIRENT.size
            found.append((os.fsdecode(part[begin : begin + length]), ino, kind))
            at = begin + -(-length // 8) * 8
    return found


@pytest.mark.parametrize("count", [3, 999, 1000, 3000])
def test_a_listing_is_read_in_parts(count: int) -> None:
    entries = [(f"n{number}" * (1 + number % 90), 10 + number, 8 if number % 3 else 4) for number in range(count)]
    assert read_back(Listing(entries), 4096) == entries


@pytest.mark.parametrize("count", [1, 2000])
def test_names_that_are_no_text_stay_as_they_are(count: int) -> None:
    entries = [("\udcff\udc80é" + str(number), number, 4) for number in range(count)]
    assert read_back(Listing(entries), 4096) == entries


@pytest.mark.parametrize("count", [10, 2000])
def test_an_offset_that_is_no_entrys_gives_nothing(count: int) -> None:
    assert Listing([(f"n{number}", number, 4) for number in range(count)]).part(5, 4096) == b""
