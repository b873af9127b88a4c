"""Directories that change while they are listed, by one reader or several, at kernels' positions."""

from __future__ import annotations

import ctypes
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import pytest

from fakecgroup.kernfs.namehash import name_key

from .conftest import OTHER_UID, Mount, needs_root

_ENTRY = Struct("=QqHB")  # struct linux_dirent64 up to its name: d_ino d_off d_reclen d_type
_END = 0x7FFFFFFF
_libc = ctypes.CDLL(None, use_errno=True)


class Entry(NamedTuple):
    name: str
    position: int  # d_off


def entries(fd: int, size: int = 32768) -> list[Entry]:
    """What one getdents64(2) gives."""
    buffer = ctypes.create_string_buffer(size)
    length = _libc.getdents64(fd, buffer, size)
    if length < 0:
        raise OSError(ctypes.get_errno(), "getdents64")
    found, at = [], 0
    while at < length:
        _, position, size, _ = _ENTRY.unpack_from(buffer, at)
        found.append(Entry(os.fsdecode(buffer.raw[at + _ENTRY.size : at + size].split(b"\0")[0]), position))
        at += size
    return found


def all_entries(fd: int, size: int = 32768) -> list[Entry]:
    found: list[Entry] = []
    while part := entries(fd, size):
        found += part
    return found


def hash_of(name: str) -> int:
    return int.from_bytes(name_key(name, False)[:4], "big")


@pytest.fixture
def opened(native_group: Path) -> Iterator[int]:
    fd = os.open(native_group, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture(params=[10, 1500])
def children(request: pytest.FixtureRequest, native_group: Path) -> list[str]:
    """Children of a cgroup: few, or so many that their order is kept."""
    names = [f"child{number}" for number in range(request.param)]
    for name in names:
        (native_group / name).mkdir()
    return names


def test_the_position_of_an_entry_is_the_hash_of_the_next(opened: int, children: list[str]) -> None:
    found = all_entries(opened)
    assert [entry.name for entry in found[:2]] == [".", ".."]
    assert [entry.position for entry in found] == [1, *(hash_of(entry.name) for entry in found[2:]), _END]
    assert {entry.name for entry in found} >= set(children)


def test_a_reader_goes_on_from_any_position_it_has_been_told(opened: int, children: list[str]) -> None:
    found = all_entries(opened)
    for at in random.Random(1).sample(range(len(found)), 20):
        os.lseek(opened, found[at].position, os.SEEK_SET)
        assert entries(opened, 4096)[:1] == found[at + 1 : at + 2]


def test_a_reader_finds_what_was_made_behind_it_and_nothing_that_is_gone(
    opened: int, children: list[str], native_group: Path
) -> None:
    first = entries(opened, 200)
    reached = first[-1].position
    for name in children[::2]:
        (native_group / name).rmdir()
    made = [f"later{number}" for number in range(40)]
    for name in made:
        (native_group / name).mkdir()
    rest = [entry.name for entry in all_entries(opened, 200)]
    there = [*made, *children[1::2]]
    assert {name for name in rest if name in there} == {name for name in there if hash_of(name) >= reached}
    assert not set(rest) & set(children[::2])
    assert len(rest) == len(set(rest))


def test_a_reader_at_the_end_stays_there(opened: int, native_group: Path) -> None:
    all_entries(opened)
    (native_group / "late").mkdir()
    assert entries(opened) == []


def test_files_that_come_with_a_controller_are_listed_by_a_reader_under_way(mount: Mount) -> None:
    tree = mount()
    place = tree / "place"
    place.mkdir()
    fd = os.open(place, os.O_RDONLY)
    try:
        first = entries(fd, 100)
        (tree / "cgroup.subtree_control").write_text("+pids")
        names = {entry.name for entry in [*first, *all_entries(fd)]}
        coming = {name for name in os.listdir(place) if name.startswith("pids.")}
        assert coming
        assert names & coming == {name for name in coming if hash_of(name) >= first[-1].position}
    finally:
        os.close(fd)


def test_each_of_many_readers_misses_nothing_that_stays(native_group: Path) -> None:
    stay = {f"stays{number}" for number in range(1200)}
    for name in stay:
        (native_group / name).mkdir()
    over = threading.Event()
    wrong: list[object] = []

    def look(size: int) -> None:
        while not over.is_set():
            fd = os.open(native_group, os.O_RDONLY)
            try:
                names = [entry.name for entry in all_entries(fd, size)]
            finally:
                os.close(fd)
            if len(names) != len(set(names)) or not stay <= set(names):
                wrong.append(stay - set(names))

    readers = [threading.Thread(target=look, args=(size,)) for size in (300, 4096, 32768)]
    for reader in readers:
        reader.start()
    chance = random.Random(2)
    there: set[str] = set()
    for _ in range(600):
        name = f"goes{chance.randrange(60)}"
        (os.rmdir if name in there else os.mkdir)(native_group / name)
        there ^= {name}
    over.set()
    for reader in readers:
        reader.join()
    assert not wrong


@needs_root
def test_a_listing_is_the_same_through_each_mount_and_in_a_namespace(mount: Mount, tmp_path: Path) -> None:
    tree = mount()
    place, other = tree / "a", tmp_path / "bound"
    place.mkdir()
    other.mkdir()
    assert not _libc.mount(os.fsencode(place), os.fsencode(other), b"none", 0x1000, None)
    try:
        for number in range(30):
            (place / f"n{number}").mkdir()
            if number % 3:
                (other / f"n{number - 1}").rmdir()
            assert os.listdir(place) == os.listdir(other) == listed_in_a_namespace(place)
    finally:
        _libc.umount2(os.fsencode(other), 2)


def listed_in_a_namespace(place: Path) -> list[str]:
    """What another user sees, in a user and a cgroup namespace of its own."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        os.setresgid(OTHER_UID, OTHER_UID, OTHER_UID)
        os.setresuid(OTHER_UID, OTHER_UID, OTHER_UID)
        _libc.unshare(0x10000000 | 0x02000000)
        os.write(theirs, "\n".join(os.listdir(place)).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as said:
        text = said.read()
    os.waitpid(pid, 0)
    return text.split("\n")


@pytest.mark.parametrize("number", [50, 3000])
def test_all_children_are_removed_while_they_are_listed(native_group: Path, number: int) -> None:
    for name in range(number):
        (native_group / f"child{name}").mkdir()
    seen = 0
    with os.scandir(native_group) as found:
        for entry in found:
            if entry.is_dir():
                os.rmdir(entry.path)
                seen += 1
    assert seen == number
