"""/proc/meminfo, vmstat and swaps of a stated machine."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel, MemoryUse
from fakecgroup.outside.machine_files import amounts, meminfo, swaps, vmstat

GIB = 1 << 30
USED = MemoryUse(anon=GIB, file=2 * GIB, shmem=GIB // 4)


def kib(text: str) -> dict[str, int]:
    """The amounts of a text of /proc/meminfo."""
    return {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()}


def test_memory_that_is_used_is_not_free() -> None:
    kernel = Kernel(memory="8Gi", swap="1Gi")
    shown = kib(meminfo("", kernel.machine, USED, kernel.personality))
    free = (8 * GIB - USED.total) >> 10
    names = ("MemTotal", "MemFree", "MemAvailable", "Cached", "SwapTotal", "SwapFree")
    swap = 1 << 20
    cached = (2 << 20) + (1 << 18)
    assert [shown[name] for name in names] == [8 << 20, free, free + (2 << 20), cached, swap, swap]


def test_huge_pages_are_not_free() -> None:
    left = amounts(Kernel(memory="8Gi", hugepages="1Gi=3").machine, USED)
    assert (left.total, left.free) == (8 * GIB, 5 * GIB - USED.total)


def test_a_machine_with_less_than_is_used_has_nothing_free_and_less_cached() -> None:
    kernel = Kernel(memory="2Gi")
    left = amounts(kernel.machine, USED)
    assert (left.free, left.available) == (0, 2 * GIB - GIB - GIB // 4)
    assert kib(meminfo("", kernel.machine, USED, kernel.personality))["Cached"] == (GIB - GIB // 4 + GIB // 4) >> 10


def test_vmstat_has_pages_of_the_stated_machine_and_events_of_the_real_one() -> None:
    used = MemoryUse(file=4096 * 6, stacks=16384)
    kernel = Kernel(memory=4096 * 100)
    text = vmstat("nr_free_pages 5\nnr_mlock 4\npgfault 123\n", kernel.machine, used, kernel.personality)
    shown = dict(line.split() for line in text.splitlines())
    names = ("nr_free_pages", "nr_mlock", "nr_file_pages", "nr_kernel_stack", "pgfault", "pgmajfault")
    assert [shown[name] for name in names] == ["90", "0", "6", "16", "123", "0"]


# of booted kernels; 6.18 is not Debian's
LINES = {"5.10": (50, 154), "6.1": (51, 171), "6.12": (53, 182), "7.2": (60, 198)}


@pytest.mark.parametrize("version", LINES)
def test_the_lines_are_those_of_the_played_kernel(version: str) -> None:
    kernel = Kernel(kernel=version)
    text = meminfo("", kernel.machine, USED, kernel.personality)
    events = vmstat("", kernel.machine, USED, kernel.personality)
    assert (text.count("\n"), events.count("\n")) == LINES[version]


def test_the_numbers_are_where_the_kernel_has_them() -> None:
    kernel = Kernel(memory="8Gi", hugepages="2Mi=8")
    lines = meminfo("DirectMap4k:       24412 kB\n", kernel.machine, MemoryUse(), kernel.personality).splitlines()
    assert lines[0] == "MemTotal:        8388608 kB"
    assert "HugePages_Total:       8" in lines
    assert "Hugepagesize:       2048 kB" in lines
    assert "DirectMap4k:       24412 kB" in lines
    assert "ShmemPmdMapped:        0 kB" in lines


@pytest.mark.parametrize(
    ("swap", "line"),
    [
        ("64Mi", "/dev/vdb                                partition\t65536\t\t0\t\t-2"),
        ("16Gi", "/dev/vdb                                partition\t16777216\t0\t\t-2"),
    ],
)
def test_swap_is_one_device(swap: str, line: str) -> None:
    assert swaps(Kernel(swap=swap).machine, MemoryUse()).splitlines()[1:] == [line]


def test_a_machine_without_swap_has_the_head_alone() -> None:
    assert swaps(Kernel().machine, MemoryUse()) == "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
