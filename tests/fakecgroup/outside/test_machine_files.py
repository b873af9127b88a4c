"""/proc/meminfo, vmstat and swaps of a stated machine."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel, MemoryUse
from fakecgroup.outside.machine_files import amounts, meminfo, swaps, vmstat

GIB = 1 << 30
USED = MemoryUse(anon=GIB, file=2 * GIB, shmem=GIB // 4)
LINES = "".join(
    f"{name}: 1 kB\n" for name in ("MemTotal", "MemFree", "MemAvailable", "Cached", "SwapTotal", "SwapFree")
)


def kib(text: str) -> dict[str, int]:
    """The amounts of a text of /proc/meminfo."""
    return {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()}


def test_memory_that_is_used_is_not_free() -> None:
    shown = kib(meminfo(LINES, Kernel(memory="8Gi", swap="1Gi").machine, USED))
    free = (8 * GIB - USED.total) >> 10
    assert shown == {
        "MemTotal": 8 << 20,
        "MemFree": free,
        "MemAvailable": free + (2 << 20),
        "Cached": (2 << 20) + (1 << 18),
        "SwapTotal": 1 << 20,
        "SwapFree": 1 << 20,
    }


def test_huge_pages_are_not_free() -> None:
    left = amounts(Kernel(memory="8Gi", hugepages="1Gi=3").machine, USED)
    assert (left.total, left.free) == (8 * GIB, 5 * GIB - USED.total)


def test_a_machine_with_less_than_is_used_has_nothing_free_and_less_cached() -> None:
    machine = Kernel(memory="2Gi").machine
    left = amounts(machine, USED)
    assert (left.free, left.available) == (0, 2 * GIB - GIB - GIB // 4)
    assert kib(meminfo(LINES, machine, USED))["Cached"] == (GIB - GIB // 4 + GIB // 4) >> 10


def test_vmstat_has_pages_of_the_stated_machine_and_events_of_the_real_one() -> None:
    real = "nr_free_pages 5\nnr_mlock 4\nnr_file_pages 3\nnr_kernel_stack 7\npgfault 123\n"
    used = MemoryUse(file=4096 * 6, stacks=16384)
    assert vmstat(real, Kernel(memory=4096 * 100).machine, used) == (
        "nr_free_pages 90\nnr_mlock 0\nnr_file_pages 6\nnr_kernel_stack 16\npgfault 123\n"
    )


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
