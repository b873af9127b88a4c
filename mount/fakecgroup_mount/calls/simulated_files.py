"""The files of /proc of simulated processes and of the machine that they live on."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from fakecgroup import JoinedProcesses, MemoryUse
from fakecgroup.outside.machine_files import meminfo, pressure
from fakecgroup.outside.simulated_tasks import FILES
from fakecgroup.tasks.joined_processes import FIRST_SIMULATED
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.path_lookup import lookup
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.seccomp.process import PROC_SUPER_MAGIC, statfs_type

_OF_TASK = re.compile(rb"^((?:.*?/)??)([0-9]{7,8})(?:/task/\2)?/(\w+)$")
_AT_TASK = re.compile(rb"^((?:.*?/)??)([0-9]{7,8})(?:/task/\2)?(?:/(\w+))?/*$")
_RESOURCES = (b"cpu", b"memory", b"io")
_PROC_ROOT_INO = 1  # fs/proc/internal.h
NAMES_OF_TASK = frozenset((*FILES, b"cgroup", b"cpuset"))
NAMES = frozenset((*NAMES_OF_TASK, b"meminfo", *_RESOURCES))
"""The last names of the files, while there are simulated processes."""


class SimulatedFiles:
    """Makes the texts of these files. There are none before there was a simulated process."""

    def __init__(self, tree: MountedTree, processes: JoinedProcesses, passing_time: PassingTime) -> None:
        self._tree = tree
        self._processes = processes
        self._time = passing_time
        self._booted = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    @property
    def begun(self) -> bool:
        """Whether there was a simulated process."""
        return self._processes.begun

    def find(self, tid: int, fd: int, path: bytes) -> tuple[bytes, int] | None:
        """The name of a simulated process's file and its pid, for the path of a thread; None for any other path.

        Only the /proc of our own pid namespace has them. Raises OSError.
        """
        found = _OF_TASK.match(path) if self.begun else None
        if found is None or int(found[2]) < FIRST_SIMULATED or found[3] not in NAMES_OF_TASK:
            return None
        return (found[3], int(found[2])) if _is_proc(tid, fd, found[1]) else None

    @staticmethod
    def may_be_of_task(path: bytes) -> bool:
        """Whether a path ends as that of a simulated process's directory or file does."""
        found = _AT_TASK.match(path)
        return found is not None and int(found[2]) >= FIRST_SIMULATED and found[3] in (None, *NAMES_OF_TASK)

    def find_any(self, tid: int, fd: int, path: bytes) -> tuple[bytes, int, int] | None:
        """As `find`, of the directory too, whose name is empty; with the file's number, 0 for the directory.

        None for a process that is gone.
        """
        found = _AT_TASK.match(path)
        if found is None or not _is_proc(tid, fd, found[1]):
            return None
        pid, name = int(found[2]), found[3] or b""
        with self._tree.lock:
            self._time.catch_up()
            if self._processes.find(pid) is None:
                return None
        return name, pid, sorted(NAMES_OF_TASK).index(name) + 1 if name else 0

    def text_of_task(self, name: bytes, pid: int) -> bytes:
        """The text of a file of /proc/PID. Raises FileNotFoundError for a process that is gone."""
        with self._tree.lock:
            self._time.catch_up()
            task = self._tree.kernel.simulated_task(pid, booted=self._booted)
        if task is None:
            raise FileNotFoundError
        return FILES[name](task).encode(errors="surrogateescape")

    def memory_used(self) -> MemoryUse:
        """The bytes that all cgroups use if there are simulated processes, else those that the real machine uses, as in
        the memory.stat of a root.
        """
        with self._tree.lock:
            self._time.catch_up()
            used = self._processes.machine_memory()
            if used is not None:
                return used
            kernel = self._tree.kernel
            counting = next((one for one in kernel.hierarchies if one.counts_memory), kernel.hierarchies[-1])
            kernel.membership.count_memory(counting.root)
            return counting.root.memory

    def text_of_machine(self, name: bytes) -> bytes | None:
        """The text of meminfo or pressure/RESOURCE; None for a machine without a unified hierarchy's pressure."""
        kernel = self._tree.kernel
        if name == b"meminfo":
            real = Path("/proc/meminfo").read_text()
            return meminfo(real, kernel.machine, self.memory_used(), kernel.personality).encode()
        with self._tree.lock:
            self._time.catch_up()
            unified = kernel.hierarchies[-1]
            return pressure(unified, name.decode().rpartition("/")[2]).encode() if unified.dfl else None


def _is_proc(tid: int, fd: int, path: bytes) -> bool:
    """Whether a path leads a thread to the /proc of our own pid namespace. Raises OSError."""
    held = lookup(tid, fd, path or b".")
    try:
        at = os.fstat(held)
        ours = at.st_ino == _PROC_ROOT_INO and statfs_type(held) == PROC_SUPER_MAGIC
        return ours and at.st_dev == os.stat("/proc").st_dev
    finally:
        os.close(held)
