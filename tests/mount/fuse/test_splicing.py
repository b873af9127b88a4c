"""What the kernel module is told of files that are copied by sendfile(2) and splice(2)."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest

from fakecgroup_mount.fuse.splicing import CachedRead, CacheInvalidator, store_last_byte

NODE = 7
LATE = 0.2  # seconds, many times what a notification waits for


@pytest.fixture
def told() -> Iterator[tuple[int, int]]:
    """What stands for /dev/fuse: where it is read, where it is written."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_a_file_that_was_said_to_be_empty_is_made_long_again(told: tuple[int, int]) -> None:
    CacheInvalidator(told[1]).enlarge_later(NODE, {})
    assert os.read(told[0], 4096) == store_last_byte(NODE)


def test_a_file_that_was_read_before_it_was_said_to_be_empty_is_made_long_again(told: tuple[int, int]) -> None:
    reads = {NODE: CachedRead(NODE, os.getpid())}
    CacheInvalidator(told[1]).enlarge_later(NODE, reads)
    assert os.read(told[0], 4096) == store_last_byte(NODE)


def test_a_file_that_was_read_since_keeps_its_length(told: tuple[int, int]) -> None:
    read = CachedRead(NODE, os.getpid())
    read.when += 3600
    CacheInvalidator(told[1]).enlarge_later(NODE, {NODE: read})
    assert not select.select([told[0]], [], [], LATE)[0]
