"""/proc/meminfo, /proc/vmstat, /proc/swaps and /proc/pressure/* of the stated machine."""

from __future__ import annotations

from ..base_files.pressure import show_cpu_pressure, show_io_pressure, show_memory_pressure
from ..core.hierarchy import Hierarchy
from ..late_pattern import pattern
from ..machine.machine import Machine
from ..machine.personality import Personality
from ..named_tuple import NamedTuple
from ..tasks.usage import MemoryUse
from .memory_fields import meminfo_fields, vmstat_fields

_KIB = 1024
_OF_THE_MACHINE = pattern(r"Vmalloc|Percpu|HardwareCorrupted|DirectMap")


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


def meminfo(real: str, machine: Machine, used: MemoryUse, personality: Personality) -> str:
    """/proc/meminfo: the lines of the played kernel, with the amounts of the stated machine. What tells of the address
    space and of devices is of the `real` machine's text.

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
        "CommitLimit": (machine.memory - machine.huge_page_memory) // 2 + machine.swap,  # vm.overcommit_ratio 50
        "Committed_AS": used.anon + used.swap,
        "SwapTotal": left.swap,
        "SwapFree": left.free_swap,
    }
    count = machine.huge_page_count(_HUGE_PAGE)
    shown |= {"HugePages_Total": count, "HugePages_Free": count, "Hugetlb": machine.huge_page_memory}
    shown |= {"Hugepagesize": _HUGE_PAGE}
    theirs = {line.partition(":")[0]: line for line in real.splitlines()}
    lines = []
    for name in meminfo_fields(personality):
        if name not in shown and name in theirs and _OF_THE_MACHINE().match(name):
            lines.append(theirs[name])
        elif name.startswith("HugePages_"):
            lines.append(f"{name + ':':<19}{shown.get(name, 0):5d}")
        elif name == "HardwareCorrupted":
            lines.append(f"{name}: {0:5d} kB")
        else:
            lines.append(f"{name + ':':<16}{shown.get(name, 0) // _KIB:8d} kB")
    return "\n".join(lines) + "\n"


def vmstat(real: str, machine: Machine, used: MemoryUse, personality: Personality) -> str:
    """/proc/vmstat: the lines of the played kernel. Counts of pages are those of the stated machine, events those of
    the `real` machine's text, 0 if it does not count them.
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
    theirs = dict(line.split(" ", 1) for line in real.splitlines())
    lines = []
    for name in vmstat_fields(personality):
        number = theirs.get(name, "0")
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
