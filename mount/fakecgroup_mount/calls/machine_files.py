"""The files of /proc that tell of the stated machine: its CPUs, its memory, its swap.

Few commands state another machine than there is, so what makes the texts is loaded when one is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.sched_affinity import SchedAffinityCalls

if TYPE_CHECKING:
    from fakecgroup import MemoryUse
    from fakecgroup.outside.machine_files import MemoryAmounts


class MachineFiles:
    """Makes the texts of these files. `parts` are those of the machine that differ from the real one.

    `used` gives the memory that all cgroups use. `real_cpus` counts the CPUs of the real machine.
    """

    def __init__(
        self,
        tree: MountedTree,
        parts: frozenset[str],
        used: Callable[[], MemoryUse],
        affinities: SchedAffinityCalls,
        real_cpus: int,
    ) -> None:
        self._machine = tree.kernel.machine
        self._personality = tree.kernel.personality
        self._used = used
        self._affinities = affinities
        self._cpus = tree.kernel.cpus
        self._real_cpus = real_cpus
        self.texts: dict[bytes, Callable[[], bytes]] = {}
        """What makes the text of each file, by its name in /proc, that programs keep open and read again."""
        self.once: dict[bytes, Callable[[], bytes]] = {}
        """The same for files whose text stays as it is."""
        if "cpus" in parts:
            self.texts |= {b"stat": self._stat, b"uptime": self._uptime, b"cpuinfo": self._cpuinfo}
        if "memory" in parts:
            self.texts |= {b"meminfo": self._meminfo, b"vmstat": self._vmstat}
            self.once |= {b"swaps": self._swaps}
        self.names = frozenset((*self.texts, *self.once, *((b"status",) if "cpus" in parts else ())))
        """The last names of the files, with those of processes."""

    def memory(self) -> MemoryAmounts:
        """The amounts of memory and swap, in bytes."""
        from fakecgroup.outside.machine_files import amounts

        return amounts(self._machine, self._used())

    def status(self, pid: int, real: bytes) -> bytes:
        """/proc/PID/status; `real` is the machine's text. Raises OSError."""
        from fakecgroup.outside import cpu_texts

        return cpu_texts.status(real, self._machine, self._affinities.affinity(pid).mask, self._affinities.mems(pid))

    def _cpuinfo(self) -> bytes:
        from fakecgroup.outside import cpu_texts

        return cpu_texts.cpuinfo(_real("cpuinfo"), self._machine, self._cpus)

    def _stat(self) -> bytes:
        from fakecgroup.outside import cpu_texts

        since = time.clock_gettime(time.CLOCK_BOOTTIME)
        return cpu_texts.stat(_real("stat"), self._machine, self._cpus, since)

    def _uptime(self) -> bytes:
        from fakecgroup.outside import cpu_texts

        return cpu_texts.uptime(_real("uptime"), self._machine, self._real_cpus)

    def _meminfo(self) -> bytes:
        from fakecgroup.outside.machine_files import meminfo

        return meminfo(_real("meminfo").decode(), self._machine, self._used(), self._personality).encode()

    def _vmstat(self) -> bytes:
        from fakecgroup.outside.machine_files import vmstat

        return vmstat(_real("vmstat").decode(), self._machine, self._used(), self._personality).encode()

    def _swaps(self) -> bytes:
        from fakecgroup.outside.machine_files import swaps

        return swaps(self._machine, self._used()).encode()


def _real(name: str) -> bytes:
    """The text of the machine below."""
    with open(f"/proc/{name}", "rb") as file:
        return file.read()
