"""/proc/meminfo, /proc/vmstat, /proc/swaps and /proc/pressure/* of the stated machine."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..base_files.pressure import show_cpu_pressure, show_io_pressure, show_memory_pressure
from ..core.hierarchy import Hierarchy
from ..machine.machine import Machine
from ..tasks.usage import MemoryUse

_LINE = re.compile(r"^(\S+):\s+(\d+)( kB)?$")
_KIB = 1024
_OF_THE_MACHINE = re.compile(r"Vmalloc|CommitLimit|Percpu|HardwareCorrupted|DirectMap|Hugepagesize")


_PAGE = 4096
_HUGE_PAGE = 2 << 20  # the size that /proc/meminfo counts
_SWAP_DEVICE = "/dev/vdb"
_ALIGNED = 10_000_000  # KiB from which a number of /proc/swaps needs one tab less


class MemoryAmounts(NamedTuple):
    """Bytes that the machine has, and what is left of them. `shared` is memory of tmpfs and such."""

    total: int
    free: int
    available: int
    shared: int
    swap: int
    free_swap: int


def _fitting(machine: Machine, used: MemoryUse) -> MemoryUse:
    """What is used, with no more file memory than there is room for beside the rest."""
    rest = used.total - used.file
    return used._replace(file=max(0, min(used.file, machine.memory - machine.huge_page_memory - rest)))


def amounts(machine: Machine, used: MemoryUse) -> MemoryAmounts:
    """What a machine has left of its memory and swap, if `used` of it is.

    What a kernel uses beside that is 0. Memory that reclaim can find is taken to be all file memory.
    """
    used = _fitting(machine, used)
    free = max(0, machine.memory - machine.huge_page_memory - used.total)
    available = min(machine.memory, free + used.file)
    return MemoryAmounts(machine.memory, free, available, used.shmem, machine.swap, max(0, machine.swap - used.swap))


def meminfo(real: str, machine: Machine, used: MemoryUse) -> str:
    """/proc/meminfo: the lines of the `real` machine's text, with the amounts of the simulated one.

    What a kernel counts beside what is `used` is 0. Memory that reclaim can find is taken to be all file memory.
    """
    used = _fitting(machine, used)
    left = amounts(machine, used)
    shown = {
        "MemTotal": left.total,
        "MemFree": left.free,
        "MemAvailable": left.available,
        "Cached": used.file + used.shmem,
        "Active": used.anon + used.file,
        "Active(anon)": used.anon,
        "Active(file)": used.file,
        "AnonPages": used.anon,
        "Mapped": used.file,
        "Shmem": used.shmem,
        "KernelStack": used.stacks,
        "PageTables": used.tables,
        "Committed_AS": used.anon + used.swap,
        "SwapTotal": left.swap,
        "SwapFree": left.free_swap,
    }
    default = min(machine.huge_pages & {_HUGE_PAGE}, default=None)
    if default is not None:
        count = machine.huge_page_count(default)
        shown |= {"HugePages_Total": count, "HugePages_Free": count, "Hugetlb": machine.huge_page_memory}
    lines = []
    for line in real.splitlines():
        found = _LINE.match(line)
        if found is None or _OF_THE_MACHINE.match(found[1]):
            lines.append(line)
        else:
            amount = shown.get(found[1], 0) // (_KIB if found[3] else 1)
            lines.append(f"{found[1] + ':':<16}{amount:8d}{found[3] or ''}")
    return "\n".join(lines) + "\n"


def vmstat(real: str, machine: Machine, used: MemoryUse) -> str:
    """/proc/vmstat: the lines of the `real` machine's text. Counts of pages are those of the stated machine, events
    are the real machine's.
    """
    used = _fitting(machine, used)
    free = amounts(machine, used).free
    pages = {
        "nr_free_pages": free,
        "nr_free_pages_blocks": free,
        "nr_zone_active_anon": used.anon,
        "nr_zone_active_file": used.file,
        "nr_active_anon": used.anon,
        "nr_active_file": used.file,
        "nr_anon_pages": used.anon,
        "nr_mapped": used.file,
        "nr_file_pages": used.file + used.shmem,
        "nr_shmem": used.shmem,
        "nr_page_table_pages": used.tables,
    }
    lines = []
    for line in real.splitlines():
        name, _, number = line.partition(" ")
        if name == "nr_kernel_stack":
            number = str(used.stacks // _KIB)
        elif name.startswith("nr_"):
            number = str(pages.get(name, 0) // _PAGE)
        lines.append(f"{name} {number}\n")
    return "".join(lines)


def swaps(machine: Machine, used: MemoryUse) -> str:
    """/proc/swaps: one device, or none (mm/swapfile.c, swap_show)."""
    head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    if not machine.swap:
        return head
    size, in_use = machine.swap // _KIB, min(machine.swap, used.swap) // _KIB
    columns = "".join(f"\t{number}" + ("\t" if number < _ALIGNED else "") for number in (size, in_use))
    return f"{head}{_SWAP_DEVICE:<40}partition{columns}\t-2\n"


def pressure(unified: Hierarchy, resource: str) -> str:
    """/proc/pressure/RESOURCE: what the root of the unified hierarchy shows."""
    shows = {"cpu": show_cpu_pressure, "memory": show_memory_pressure, "io": show_io_pressure}
    return shows[resource](unified.root)
