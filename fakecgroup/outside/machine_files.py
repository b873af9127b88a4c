"""/proc/meminfo and /proc/pressure/* of the machine that simulated processes live on."""

from __future__ import annotations

import re

from ..base_files.pressure import show_cpu_pressure, show_io_pressure, show_memory_pressure
from ..core.hierarchy import Hierarchy
from ..machine.machine import Machine
from ..tasks.usage import MemoryUse

_LINE = re.compile(r"^(\S+):\s+(\d+)( kB)?$")
_KIB = 1024
_OF_THE_MACHINE = re.compile(r"Vmalloc|CommitLimit|Percpu|HardwareCorrupted|DirectMap|Hugepagesize")


def meminfo(real: str, machine: Machine, used: MemoryUse) -> str:
    """/proc/meminfo: the lines of the `real` machine's text, with the amounts of the simulated one.

    `used` is what all cgroups use. What a kernel counts beside that is 0. Memory that reclaim can find is taken to be
    all file memory.
    """
    free = max(0, machine.memory - used.total)
    amounts = {
        "MemTotal": machine.memory,
        "MemFree": free,
        "MemAvailable": min(machine.memory, free + used.file),
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
        "SwapTotal": machine.swap,
        "SwapFree": max(0, machine.swap - used.swap),
    }
    lines = []
    for line in real.splitlines():
        found = _LINE.match(line)
        if found is None or _OF_THE_MACHINE.match(found[1]):
            lines.append(line)
        else:
            amount = amounts.get(found[1], 0) // (_KIB if found[3] else 1)
            lines.append(f"{found[1] + ':':<15}{amount:9d}{found[3] or ''}")
    return "\n".join(lines) + "\n"


def pressure(unified: Hierarchy, resource: str) -> str:
    """/proc/pressure/RESOURCE: what the root of the unified hierarchy shows."""
    shows = {"cpu": show_cpu_pressure, "memory": show_memory_pressure, "io": show_io_pressure}
    return shows[resource](unified.root)
