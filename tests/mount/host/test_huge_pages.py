"""The huge pages that a process has."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from fakecgroup_mount.host.huge_pages import HugePageUse, mappings_of

_MAP_HUGETLB = 0x40000
SIZE = 2 << 20

SMAPS = b"""\
7f0000000000-7f0000800000 rw-p 00200000 00:0f 4711                       /anon_hugepage (deleted)
Size:               8192 kB
KernelPageSize:     2048 kB
MMUPageSize:        2048 kB
Private_Hugetlb:    4096 kB
VmFlags: rd wr mr mw me de ht sd
7f0000800000-7f0000a00000 rw-s 00000000 00:31 12                         /mnt/huge/a file
KernelPageSize:     2048 kB
VmFlags: rd wr sh mr mw me ms nr ht
7f0000a00000-7f0000c00000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
VmFlags: rd wr mr mw me ac sd
"""


def test_mappings_of_huge_pages_are_found() -> None:
    first, second = mappings_of(SMAPS)
    assert first == (0x7F0000000000, 0x7F0000800000, SIZE, (b"00:0f", b"4711"), 0x200000, False, True)
    assert second == (0x7F0000800000, 0x7F0000A00000, SIZE, (b"00:31", b"12"), 0, True, False)


def test_a_process_without_any_has_none() -> None:
    has = HugePageUse().of(os.getpid(), 0)
    assert (has.pages, has.reserved, has.files) == ({}, {}, frozenset())


def test_a_process_that_is_gone_has_none() -> None:
    assert HugePageUse().of(1 << 30, SIZE).pages == {}


def test_pages_that_are_touched_are_found() -> None:
    free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("HugePages_Free"))
    if int(free.split()[1]) < 4 or mmap.PAGESIZE != 4096:
        pytest.skip("no four huge pages of 2 MiB are free here (/proc/sys/vm/nr_hugepages)")
    use = HugePageUse()
    with mmap.mmap(-1, 4 * SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_HUGETLB) as memory:
        mapped = use.of(os.getpid(), 0)
        assert (len(mapped.pages), list(mapped.reserved.values())) == (0, [(SIZE, 4 * SIZE)])
        memory[SIZE] = 1
        assert list(use.of(os.getpid(), SIZE).pages.values()) == [SIZE]
    assert use.of(os.getpid(), 0).reserved == {}
