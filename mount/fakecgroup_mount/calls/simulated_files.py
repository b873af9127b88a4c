"""The files of /proc of simulated processes and of the machine that they live on."""

from __future__ import annotations

import os
import time

from fakecgroup import JoinedProcesses, MemoryUse
from fakecgroup.credentials.capability import Capability
from fakecgroup.late_pattern import pattern
from fakecgroup.outside.simulated_tasks import FILES, LONGEST_ADJ
from fakecgroup.tasks.tid import FIRST_SIMULATED
from fakecgroup_mount.calls.caller_credentials import is_capable
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.path_lookup import lookup
from fakecgroup_mount.calls.pressure_files import RESOURCES, PressureFile
from fakecgroup_mount.enforce.enforcement import Enforcement
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.seccomp.process import PROC_SUPER_MAGIC, credentials, statfs_type

_TASK = b"task"
_AT_TASK = pattern(rb"^((?:.*?/)??)([0-9]{7,8})(?:/task/\2)?(?:/(\w+))?/*$")
_PROC_ROOT_INO = 1  # fs/proc/internal.h
NAMES_OF_TASK = frozenset((*FILES, b"cgroup", b"cpuset"))
WRITABLE = b"oom_score_adj"


class SimulatedFiles:
    """Makes the texts of these files, for the sandbox of process `first`. There are none before there was a simulated
    process, but those of pressure that limits on real processes make (`enforcement`).
    """

    def __init__(
        self,
        tree: MountedTree,
        processes: JoinedProcesses,
        passing_time: PassingTime,
        first: int,
        enforcement: Enforcement,
    ) -> None:
        self._tree = tree
        self._first = first
        self._processes = processes
        self._time = passing_time
        self._enforcement = enforcement
        self._booted = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    @property
    def begun(self) -> bool:
        """Whether there was a simulated process."""
        return self._processes.begun

    def may_be_opened(self, path: bytes) -> bool:
        """Whether a path ends as that of a simulated process's directory or file, or of a file of pressure, does."""
        return self.has_pressure(path.rpartition(b"/")[2]) or (self.begun and self.may_be_of_task(path))

    @staticmethod
    def may_be_of_task(path: bytes) -> bool:
        """Whether a path ends as that of a simulated process's directory or file does."""
        found = _AT_TASK().match(path)
        return found is not None and int(found[2]) >= FIRST_SIMULATED and found[3] in (None, _TASK, *NAMES_OF_TASK)

    def find_any(self, tid: int, fd: int, path: bytes) -> tuple[bytes, int, int] | None:
        """The name of a simulated process's file or directory, its pid, and a number, for the path of a thread. The
        name of the directory PID is empty.

        Only the /proc of our own pid namespace has them. None for any other path, and for a process that is gone.
        """
        found = _AT_TASK().match(path)
        if found is None or not _is_proc(tid, fd, found[1]):
            return None
        pid, name = int(found[2]), found[3] or b""
        with self._tree.lock:
            self._time.catch_up()
            if self._processes.find(pid) is None:
                return None
        return name, pid, (b"", _TASK, *sorted(NAMES_OF_TASK)).index(name)

    @property
    def pids(self) -> frozenset[int]:
        """The simulated processes that live now."""
        with self._tree.lock:
            self._time.catch_up()
            return frozenset(self._processes.simulated.all())

    def allows(self, tid: int, name: bytes, mask: int, *, real_ids: bool = False) -> bool:
        """Whether a thread may read, write or search a file or directory of a simulated process, by the kernel's modes:
        directories 0555, files 0444, oom_score_adj 0644, of the sandbox's root (generic_permission).

        `real_ids`, for access(2): its real ids count, and capabilities if it is root then (access_override_creds).
        Raises OSError: there is no such thread.
        """
        theirs = credentials(tid)
        mode = 0o555 if name in (b"", _TASK) else 0o644 if name == WRITABLE else 0o444
        if mask & os.X_OK and not mode & 0o111:
            return False
        user = theirs.uids[0 if real_ids else 3]
        granted = mode >> 6 if user == 0 else mode
        if not mask & ~granted & 7:
            return True
        return not (real_ids and user) and is_capable(tid, Capability.DAC_OVERRIDE, self._first)

    def has_pressure(self, resource: bytes) -> bool:
        """Whether /proc/pressure/RESOURCE tells of the tree: its unified hierarchy has the file, and its processes are
        simulated or wait for a limit.
        """
        if resource not in RESOURCES:
            return False
        return (self.begun or resource.decode() in self._enforcement.names) and self._tree.kernel.hierarchies[-1].dfl

    def open_pressure(self, resource: bytes, tid: int) -> PressureFile:
        """An open /proc/pressure/RESOURCE of a thread."""
        return PressureFile(self._tree, self._time, resource, tid)

    def write(self, tid: int, pid: int, text: bytes) -> int:
        """What a write to /proc/PID/oom_score_adj does. Returns how many bytes it takes. Raises what
        `Kernel.set_oom_score_adj` does.
        """
        text = text[:LONGEST_ADJ]
        capable = is_capable(tid, Capability.SYS_RESOURCE, self._first)
        with self._tree.lock:
            self._time.catch_up()
            self._tree.kernel.set_oom_score_adj(pid, text.decode("latin-1"), capable=capable)
            self._time.changed()
        return len(text)

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

    def meminfo(self) -> bytes:
        """The text of /proc/meminfo."""
        from fakecgroup.outside.machine_files import meminfo  # takes a while to load

        kernel = self._tree.kernel
        with open("/proc/meminfo") as file:
            real = file.read()
        return meminfo(real, kernel.machine, self.memory_used(), kernel.personality).encode()


def _is_proc(tid: int, fd: int, path: bytes) -> bool:
    """Whether a path leads a thread to the /proc of our own pid namespace. Raises OSError."""
    held = lookup(tid, fd, path or b".")
    try:
        at = os.fstat(held)
        ours = at.st_ino == _PROC_ROOT_INO and statfs_type(held) == PROC_SUPER_MAGIC
        return ours and at.st_dev == os.stat("/proc").st_dev
    finally:
        os.close(held)
