"""Listings that are kept say what the model says, whatever comes and goes."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator

import pytest

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup_mount.fuse import listings, wire
from fakecgroup_mount.fuse.listing import Listing
from fakecgroup_mount.fuse.listings import Listings

LAYOUTS = {"v2": "", "v1": "pids/"}


def attached(kernel: Kernel) -> Listings:
    kept = Listings()
    kernel.on_child, kernel.on_files = kept.child_changed, kept.drop
    return kept


def cgroup_at(kernel: Kernel, path: str) -> Cgroup:
    found = kernel.walk(path)
    assert isinstance(found, Cgroup)
    return found


def read(kept: Listings, cgroup: Cgroup) -> list[tuple[str, int, int]]:
    """The entries of a cgroup but for . and .., in parts."""
    found, position = [], 2
    while part := kept.of(cgroup).part(position, 4096):
        at = 0
        while at < len(part):
            ino, position, length, kind = wire.DIRENT.unpack_from(part, at)
            at += wire.DIRENT.size
            found.append((os.fsdecode(bytes(part[at : at + length])), ino, kind))
            at += -(-length // 8) * 8
    return found


def changes(kernel: Kernel, top: str, chance: random.Random) -> Iterator[None]:
    """Things happen in a tree. What is refused happens too."""
    while True:
        place = top + "/" + chance.choice(("", "a/", "a/b/"))
        child = place + chance.choice("abcdefghij")
        with contextlib.suppress(OSError):
            match chance.randrange(9):
                case 0 | 1 | 2:
                    kernel.mkdir(child)
                case 3 | 4:
                    kernel.rmdir(child)
                case 5:
                    kernel.rename(child, place + chance.choice("abcdefghij"))
                case 6:
                    kernel.write(place + "cgroup.subtree_control", chance.choice("+-") + "pids")
                case 7:
                    kernel.write(place + "cgroup.pressure", chance.choice("01"))
                case 8:
                    kernel.write(place + "cgroup.type", "threaded")
        yield


@pytest.mark.parametrize("many", [3, 6, 1000])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_kept_listing_is_the_models(monkeypatch: pytest.MonkeyPatch, layout: str, seed: int, many: int) -> None:
    monkeypatch.setattr(listings, "_MANY", many)
    kernel, chance = Kernel(layout), random.Random(seed)
    kept = attached(kernel)
    top = LAYOUTS[layout] + "top"
    kernel.mkdir(top)
    happens = changes(kernel, top, chance)
    for _ in range(1500):
        next(happens)
        cgroup = cgroup_at(kernel, top)
        for one in (cgroup, *cgroup.descendants()):
            if chance.random() < 0.5:
                assert read(kept, one) == one.entries()


def test_cgroups_with_the_same_files_have_listings_of_their_own() -> None:
    kernel = Kernel()
    kept = attached(kernel)
    for name in "ab":
        kernel.mkdir(name)
    for name in "ab":
        cgroup = cgroup_at(kernel, name)
        assert read(kept, cgroup) == cgroup.entries()


def test_a_removed_cgroup_has_no_entries() -> None:
    kernel = Kernel()
    kept = attached(kernel)
    kernel.mkdir("a")
    cgroup = cgroup_at(kernel, "a")
    read(kept, cgroup)
    kernel.on_gone = lambda inode: kept.drop(inode) if isinstance(inode, Cgroup) else None
    kernel.rmdir("a")
    assert read(kept, cgroup) == []


def test_a_listing_is_made_anew_where_memory_was_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_MANY", 3)
    kernel = Kernel()
    kept = attached(kernel)
    kernel.mkdir("a")
    for name in "bcde":
        kernel.mkdir(f"a/{name}")

    def short(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Listing, "add", short)
        kernel.mkdir("a/f")
    cgroup = cgroup_at(kernel, "a")
    assert read(kept, cgroup) == cgroup.entries()
