"""Entries of a directory as FUSE dirents: in the kernel's order, at its positions, in parts, while they change."""

from __future__ import annotations

import itertools
import os
import random

import pytest

from fakecgroup.kernfs.namehash import name_key
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.listing import END, Entry, Listing

DOTS = [(".", 1, 4), ("..", 2, 4)]


class Shown(tuple[str, int, int]):
    """An entry as it is read back, with its position."""

    position: int


def entry(name: str, ino: int, kind: int = 4) -> Entry:
    return name_key(name, False), ino, kind


def listing(entries: list[Entry], *, grows: bool = False) -> Listing:
    return Listing(1, 2, sorted(entries), grows=grows)


def parts(listing: Listing, limit: int, position: int = 0) -> list[list[Shown]]:
    """The entries from a position on, read in parts of up to `limit` bytes, as the kernel module does."""
    found: list[list[Shown]] = []
    while part := listing.part(position, limit):
        assert len(part) <= limit
        found.append([])
        at = 0
        while at < len(part):
            ino, position, length, kind = wire.DIRENT.unpack_from(part, at)
            begin = at + wire.DIRENT.size
            shown = Shown((os.fsdecode(bytes(part[begin : begin + length])), ino, kind))
            shown.position = position
            found[-1].append(shown)
            at = begin + -(-length // 8) * 8
    return found


def read(listing: Listing, limit: int = 4096, position: int = 0) -> list[Shown]:
    return [shown for part in parts(listing, limit, position) for shown in part]


def expected(entries: list[Entry]) -> list[tuple[str, int, int]]:
    return DOTS + [(os.fsdecode(key[4:]), ino, kind) for key, ino, kind in sorted(entries)]


def names_of_one_hash(bits: int) -> list[str]:
    """2 ** bits names that a kernel cannot tell by their hash: 11 more in one byte is 1 more in the byte before."""
    return ["".join(pairs) for pairs in itertools.product(("ao", "bd"), repeat=bits)]


@pytest.mark.parametrize("limit", [4096, 32768])
@pytest.mark.parametrize("count", [0, 1, 3, 999, 3000])
def test_all_entries_are_read_in_the_order_of_their_hashes(count: int, limit: int) -> None:
    entries = [entry(f"n{number}" * (1 + number % 90), 10 + number, 8 if number % 3 else 4) for number in range(count)]
    assert read(listing(entries), limit) == expected(entries)


@pytest.mark.parametrize("count", [1, 2000])
def test_names_that_are_no_text_stay_as_they_are(count: int) -> None:
    entries = [entry("\udcff\udc80é" + str(number), number) for number in range(count)]
    assert read(listing(entries)) == expected(entries)


def test_the_position_of_an_entry_is_the_hash_of_the_next_one() -> None:
    entries = sorted(entry(f"n{number}", number) for number in range(500))
    found = read(listing(entries))
    hashes = [int.from_bytes(key[:4], "big") for key, _, _ in entries]
    assert [shown.position for shown in found] == [1, *hashes, END]


def test_a_reader_may_begin_anywhere() -> None:
    entries = sorted(entry(f"n{number}", number) for number in range(500))
    one = listing(entries, grows=True)
    whole = read(one)
    for at in range(len(whole) - 1):
        assert read(one, position=whole[at].position) == whole[at + 1 :]
        assert read(one, position=whole[at].position + 1) == whole[at + 2 :]
    assert read(one, position=END) == read(one, position=END + 7) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_listing_that_has_changed_reads_as_one_that_is_made_anew(seed: int) -> None:
    chance = random.Random(seed)
    names = names_of_one_hash(9) if seed == 4 else [f"n{number}" * (number % 5 + 1) for number in range(3000)]
    there = {name: entry(name, ino) for ino, name in enumerate(names[:1000], start=10)}
    changed = listing(list(there.values()), grows=True)
    for ino in range(10_000, 13_000):
        name = chance.choice(names)
        if name in there and chance.random() < 0.7:
            changed.remove(there.pop(name)[0])
        elif name not in there:
            there[name] = entry(name, ino)
            changed.add(*there[name])
    anew = listing(list(there.values()))
    assert read(changed) == read(anew) == expected(list(there.values()))
    assert [shown.position for shown in read(changed)] == [shown.position for shown in read(anew)]
    for name in list(there):
        changed.remove(there.pop(name)[0])
    assert read(changed) == DOTS


def test_a_removed_name_that_is_not_there_changes_nothing() -> None:
    entries = [entry(f"n{number}", number) for number in range(300)]
    one = listing(entries, grows=True)
    one.remove(entry("other", 1)[0])
    assert read(one) == expected(entries)


@pytest.mark.parametrize("limit", [4096, 32768])
def test_names_of_one_hash_are_read_once_each(limit: int) -> None:
    entries = [entry(name, ino) for ino, name in enumerate(names_of_one_hash(10), start=10)]
    assert len({key[:4] for key, _, _ in entries}) == 1
    assert read(listing(entries), limit) == read(listing(entries, grows=True), limit) == expected(entries)


@pytest.mark.parametrize("seed", range(3))
def test_changes_while_it_is_read_move_no_other_entry(seed: int) -> None:
    chance = random.Random(seed)
    there = {f"stays{number}": entry(f"stays{number}", number) for number in range(1000)}
    going = {f"goes{number}": entry(f"goes{number}", number) for number in range(1000)}
    one = listing([*there.values(), *going.values()], grows=True)
    found, position = [], 0
    for number in range(10_000):
        if not (part := one.part(position, 4096)):
            break
        at = 0
        while at < len(part):
            _, position, length, _ = wire.DIRENT.unpack_from(part, at)
            found.append(bytes(part[at + 24 : at + 24 + length]).decode())
            at += 24 + -(-length // 8) * 8
        for _ in range(20):
            if going:
                one.remove(going.pop(chance.choice(list(going)))[0])
            one.add(*entry(f"comes{number}-{_}", 1))
    assert [name for name in found if name.startswith("stays")] == [
        os.fsdecode(key[4:]) for key, _, _ in sorted(there.values())
    ]
    assert len(found) == len(set(found))


def test_directories_with_the_same_names_share_their_records() -> None:
    entries = sorted(entry(f"n{number}", number) for number in range(300))
    other = listing(entries).alike([7, 8, *range(1000, 1300)])
    assert read(other) == [
        (".", 7, 4), ("..", 8, 4), *((os.fsdecode(key[4:]), 1000 + at, 4) for at, (key, _, _) in enumerate(entries))
    ]  # fmt: skip
    assert read(listing(entries)) == expected(entries)
