"""Each address space counts once, whatever processes have it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fakecgroup_mount.enforce import address_spaces
from fakecgroup_mount.enforce.address_spaces import distinct
from fakecgroup_mount.enforce.footprint import Footprint

CLONE = """
import ctypes, os, sys
libc, stack = ctypes.CDLL(None), ctypes.create_string_buffer(1 << 16)
CLONE_VM, SIGCHLD = 0x100, 17
top = (ctypes.addressof(stack) + (1 << 16)) & ~15
child = libc.clone(libc.pause, ctypes.c_void_p(top), CLONE_VM | SIGCHLD, None)
print(child, flush=True); sys.stdin.read(); os.kill(child, 9)
"""


@pytest.fixture
def cloned() -> Iterator[list[int]]:
    """A process and its child with its memory."""
    with subprocess.Popen([sys.executable, "-S", "-c", CLONE], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None and process.stdin is not None
        yield [process.pid, int(process.stdout.readline())]
        process.stdin.close()


@pytest.fixture
def grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that grows between two looks at it: 1 byte, then 2."""
    looks = iter((1, 2))

    def look(tgid: int) -> Footprint:
        size = next(looks)
        return Footprint(size, size, 0, os.getpid(), "program")

    monkeypatch.setattr(address_spaces, "footprint", look)


def test_an_address_space_counts_once_though_it_grows_meanwhile(cloned: list[int], grows: None) -> None:
    assert [found.share for _, found in distinct(cloned)] == [2]


def test_one_that_is_shared_with_a_parent_elsewhere_counts_there(cloned: list[int]) -> None:
    assert list(distinct(cloned[1:])) == []


def test_those_of_forks_count_each(grows: None) -> None:
    with (
        subprocess.Popen(["sleep", "300"]) as one,
        subprocess.Popen(["sleep", "300"]) as other,
    ):
        assert sorted(found.share for _, found in distinct([one.pid, other.pid])) == [1, 2]
        one.kill()
        other.kill()
