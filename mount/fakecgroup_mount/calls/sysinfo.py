"""sysinfo(2): the memory and swap of the stated machine."""

from __future__ import annotations

import ctypes
from struct import Struct

from fakecgroup_mount.calls.machine_files import MachineFiles
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.syscalls import libc

_SYSINFO = Struct("=q3Q6QHHxxxxQQI4x")  # struct sysinfo: uptime, loads, amounts of memory, processes, high memory, unit


class SysinfoCall:
    """Replaces the amounts in what the real machine says."""

    def __init__(self, files: MachineFiles) -> None:
        self._files = files

    def sysinfo(self, call: Call) -> Answer:
        """Raises EFAULT. Amounts are in bytes."""
        buffer = ctypes.create_string_buffer(_SYSINFO.size)
        if libc.sysinfo(buffer):
            return CONTINUE
        uptime, *loads = _SYSINFO.unpack_from(buffer)[:4]
        rest = _SYSINFO.unpack_from(buffer)[10:12]
        memory = self._files.memory()
        amounts = (memory.total, memory.free, memory.shared, 0, memory.swap, memory.free_swap)
        if not call.waits():
            return CONTINUE
        call.memory.write(call.tid, call.arguments[0], _SYSINFO.pack(uptime, *loads, *amounts, *rest, 0, 0, 1))
        return 0
