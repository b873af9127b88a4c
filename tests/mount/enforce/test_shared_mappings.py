"""Which anonymous shared memory is certainly charged where its processes are."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator

import pytest

from fakecgroup_mount.enforce import shared_mappings
from fakecgroup_mount.enforce.shared_mappings import SharedMappings, mappings_of, shares_of

SIZE = 4 << 20


@pytest.fixture
def touched() -> Iterator[dict[int, int]]:
    """The shares of this process, of which the last mapping has 4 MiB."""
    with mmap.mmap(-1, SIZE) as memory:
        memory.write(b"x" * SIZE)
        yield shares_of(os.getpid())


def test_a_mapping_has_what_was_touched(touched: dict[int, int]) -> None:
    assert SIZE in touched.values()


def test_it_is_certain(touched: dict[int, int]) -> None:
    assert SharedMappings().certain(touched) >= SIZE


def test_one_that_a_moved_process_had_is_in_doubt(touched: dict[int, int]) -> None:
    mappings = SharedMappings()
    mappings.doubt([os.getpid()])
    assert mappings.certain(touched) == 0


def test_one_that_came_later_is_not(touched: dict[int, int]) -> None:
    mappings = SharedMappings()
    mappings.doubt([os.getpid()])
    with mmap.mmap(-1, SIZE) as memory:
        memory.write(b"x" * SIZE)
        assert mappings.certain(shares_of(os.getpid())) == SIZE


def test_all_are_in_doubt_if_it_is_not_known_what_a_process_has(
    touched: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_mappings, "mappings_of", lambda tgid: None)
    mappings = SharedMappings()
    mappings.doubt([1])
    assert mappings.certain(touched) == 0


def test_files_in_memory_are_none() -> None:
    before = mappings_of(os.getpid())
    with tempfile.TemporaryDirectory() as directory:
        memfd = os.memfd_create("zero")
        file = os.open(f"{directory}/zero", os.O_RDWR | os.O_CREAT)
        for fd in (memfd, file):
            os.truncate(fd, SIZE)
        os.unlink(f"{directory}/zero")
        with mmap.mmap(memfd, SIZE), mmap.mmap(file, SIZE):
            assert mappings_of(os.getpid()) == before
        os.close(memfd)
        os.close(file)
