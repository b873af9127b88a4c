"""CPU and memory use of processes, from their CPU clocks and /proc.

Memory that several processes map is divided among them ("Pss" of smaps_rollup), so that it is counted once. Reading
that takes time in proportion to the memory. So for a big process whose program nobody else runs, only file and shared
memory is divided, and not at each look. What we may not read is not divided.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

from fakecgroup import CpuTime, CpuUse, Faults, MemoryUse, ProcessMemory
from fakecgroup.late_pattern import pattern
from fakecgroup_mount.host.huge_pages import HugePageUse
from fakecgroup_mount.host.shared_memory import shares_memory

_SCHED, _VIRT, _PROF = 2, 1, 0  # CPUCLOCK_*, include/linux/posix-timers.h
_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # ns
_KIB = 1024
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STACK = 16 << 10  # bytes of kernel stack per thread on x86-64 and, with pages of 4 or 16 KiB, arm64 (THREAD_SIZE)
_WHOLE_PAGES = -4096
_BIG = 16 << 20  # bytes of anonymous memory; a bigger process is not divided at each look
_SPARING = 20  # times the duration of a division pass before the next one
_PARENT, _CUTIME, _CSTIME, _NICE, _THREADS, _START, _CPU = (
    1,
    13,
    14,
    16,
    17,
    19,
    36,
)  # indexes in the result of `stat_of`
_ZOMBIE = "Z"
_DEAD = "X"  # still visible, but its parent has its time already
_IMAGE = (slice(23, 26), slice(42, 49))  # addresses of code, stack and data, which execve(2) changes
_MINFLT, _MAJFLT = 7, 9
_STATUS = pattern(rb"^(VmHWM|VmRSS|VmLck|RssAnon|RssFile|RssShmem|VmPTE|Threads|HugetlbPages):\s+(\d+)", re.M)
_ROLLUP = pattern(rb"^(Pss_Anon|Pss_File|Pss_Shmem|AnonHugePages):\s+(\d+)", re.M)
_MEMINFO = pattern(
    rb"^(Buffers|Cached|AnonPages|Shmem|KernelStack|PageTables|AnonHugePages|Unevictable):\s+(\d+)", re.M
)
_VMSTAT = pattern(rb"^(pgfault|pgmajfault) (\d+)", re.M)
_NO_USE = ProcessMemory(MemoryUse())


class SharedFractions:
    """The shares of a big process in its file and shared memory (0 to 1), good until `until` (ns, monotonic)."""

    __slots__ = ("file", "shmem", "until")

    def __init__(self, file: float, shmem: float, until: int) -> None:
        self.file = file
        self.shmem = shmem
        self.until = until


class Usage:
    """Reads /proc. A process that has not run since the last read is not read again."""

    def __init__(self) -> None:
        self._cpu: dict[int, CpuUse] = {}
        self._memory: dict[int, tuple[int, ProcessMemory]] = {}  # tgid -> CPU time in ns at the last read, memory then
        self._sharing: dict[int, SharedFractions] = {}
        self.huge_pages: HugePageUse | None = None
        """None where huge pages are not counted."""
        self._images: dict[object, set[int]] = {}  # processes with the same program image, forks of one another

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        """`Processes.cpu`."""
        run = _clock(tgid, _SCHED)
        if run is None:
            self._cpu.pop(tgid, None)
            return None
        known = self._cpu.get(tgid)
        if known is not None and known.own.run == run and not exact:
            return known
        stat = stat_of(tgid)
        user, both = _clock(tgid, _VIRT), _clock(tgid, _PROF)
        if not stat or stat[0] == _DEAD or user is None or both is None:
            return None
        children = CpuTime(0, int(stat[_CUTIME]) * _TICK, int(stat[_CSTIME]) * _TICK)
        use = CpuUse(
            int(stat[_START]),
            int(stat[_PARENT]),
            CpuTime(run, user, both - user, user if int(stat[_NICE]) > 0 else 0),
            children._replace(run=children.user + children.system),
            int(stat[_CPU]),
            stat[0] == _ZOMBIE and int(stat[_THREADS]) < 2,
        )
        if known != use:
            self._cpu[tgid] = use
        return self._cpu[tgid]

    def memory(self, tgid: int) -> ProcessMemory:
        """`Processes.memory`."""
        run = _clock(tgid, _SCHED)
        known = self._memory.get(tgid)
        if known is not None and known[0] == run and len(self._images.get(known[1].image, ())) < 2:
            return known[1]
        status = _numbers(f"/proc/{tgid}/status", _STATUS())
        stat = stat_of(tgid)
        faults = _faults(stat)
        if run is None or not stat or not status.get(b"VmRSS"):  # gone, a zombie, a kernel thread
            self.forget(tgid)
            return _NO_USE._replace(faults=faults)
        image = image_of(stat)
        if known is not None and known[1].image != image:
            self.forget(tgid)
        self._images.setdefault(image, set()).add(tgid)
        resident, peak = status[b"VmRSS"] * _KIB, status.get(b"VmHWM", 0) * _KIB
        if shares_memory(tgid, int(stat[_PARENT])):  # vfork: the memory is the parent's
            use, resident = MemoryUse(stacks=_stacks(status)), peak
        else:
            use = self._divided(tgid, status, forked=image is not None and len(self._images[image]) > 1)
        memory = ProcessMemory(use, image, resident, peak, faults)
        if self.huge_pages is not None:
            has = self.huge_pages.of(tgid, status.get(b"HugetlbPages", 0))
            memory = memory._replace(huge_pages=has)
        self._memory[tgid] = run, memory
        return memory

    def _divided(self, tgid: int, status: dict[bytes, int], forked: bool) -> MemoryUse:
        anon, file, shmem = (status.get(name, 0) * _KIB for name in (b"RssAnon", b"RssFile", b"RssShmem"))
        huge = 0
        known = self._sharing.get(tgid)
        now = time.monotonic_ns()
        if forked or known is None or anon < _BIG or now > known.until:
            parts = _numbers(f"/proc/{tgid}/smaps_rollup", _ROLLUP())
            if parts:
                huge = parts.get(b"AnonHugePages", 0) * _KIB
                own_file, own_shmem = parts.get(b"Pss_File", 0) * _KIB, parts.get(b"Pss_Shmem", 0) * _KIB
                took = time.monotonic_ns() - now
                self._sharing[tgid] = SharedFractions(
                    own_file / file if file else 1, own_shmem / shmem if shmem else 1, now + _SPARING * took
                )
                if forked:
                    anon = parts.get(b"Pss_Anon", 0) * _KIB
                file, shmem = own_file, own_shmem
        else:
            file, shmem = int(file * known.file), int(shmem * known.shmem)
        anon, file, shmem = (amount & _WHOLE_PAGES for amount in (anon, file, shmem))
        tables = status.get(b"VmPTE", 0) * _KIB
        locked = min(status.get(b"VmLck", 0) * _KIB, anon + file + shmem)
        return MemoryUse(anon, file, shmem, _stacks(status), tables, huge, locked)

    def forget(self, tgid: int) -> None:
        """The process is gone or runs another program."""
        known = self._memory.pop(tgid, None)
        self._sharing.pop(tgid, None)
        if self.huge_pages is not None:
            self.huge_pages.forget(tgid)
        if known is None:
            return
        others = self._images.get(known[1].image)
        if others is not None:
            others.discard(tgid)
            if not others:
                del self._images[known[1].image]


def thread_cpu(tid: int) -> int:
    """`Processes.thread_cpu`: the first number of /proc/TID/schedstat."""
    run, *_ = text_of(f"/proc/{tid}/schedstat").split() or [b"0"]
    return int(run)


def waited(tgid: int) -> tuple[int, int]:
    """How many threads a process has, and the ns that they have waited for a CPU (/proc/TID/schedstat)."""
    try:
        tids = os.listdir(f"/proc/{tgid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    found = [text_of(f"/proc/{tgid}/task/{tid}/schedstat").split() for tid in tids]
    return len(tids), sum(int(fields[1]) for fields in found if len(fields) > 1)


def clock_id(tgid: int) -> int:
    """The clock of what all threads of a process have run, for clock_gettime(2). It fails once the process is gone."""
    return ~tgid << 3 | _SCHED


def cpu_clock(tgid: int) -> int | None:
    """ns that all threads of a process have run; None if it is gone."""
    return _clock(tgid, _SCHED)


def machine_cpu() -> Sequence[CpuTime]:
    """`Processes.machine_cpu`: /proc/stat (root_cgroup_cputime)."""
    times = []
    for line in text_of("/proc/stat").splitlines():
        name, *fields = line.split()
        if not name.startswith(b"cpu"):
            break
        if name != b"cpu":
            user, nice, system, _, _, irq, softirq = (int(field) * _TICK for field in fields[:7])
            times.append(CpuTime(user + nice + system + irq + softirq, user + nice, system + irq + softirq, nice))
    return times


def machine_memory() -> MemoryUse:
    """`Processes.machine_memory`: /proc/meminfo."""
    info = {name: kib * _KIB for name, kib in _numbers("/proc/meminfo", _MEMINFO()).items()}
    shmem = info.get(b"Shmem", 0)
    file = max(0, info.get(b"Buffers", 0) + info.get(b"Cached", 0) - shmem)
    return MemoryUse(
        info.get(b"AnonPages", 0),
        file,
        shmem,
        info.get(b"KernelStack", 0),
        info.get(b"PageTables", 0),
        info.get(b"AnonHugePages", 0),
        info.get(b"Unevictable", 0),
    )


def machine_faults() -> Faults:
    """`Processes.machine_faults`: /proc/vmstat."""
    counts = _numbers("/proc/vmstat", _VMSTAT())
    return Faults(counts.get(b"pgfault", 0), counts.get(b"pgmajfault", 0))


def stat_of(tid: int) -> list[str]:
    """/proc/TID/stat from the third field on, which is the state; [] for no such thread (proc_pid_stat(5))."""
    return text_of(f"/proc/{tid}/stat").rpartition(b")")[2].decode().split()


def resident(tgid: int) -> int:
    """The resident bytes of a process; 0 if it is gone."""
    _, pages, *_ = text_of(f"/proc/{tgid}/statm").split() or [b"", b"0"]
    return int(pages) * _PAGE


def parent_of(tid: int) -> int:
    """The parent of a thread's process; 0 if it is gone or has none."""
    stat = stat_of(tid)
    return int(stat[_PARENT]) if stat else 0


def _faults(stat: list[str]) -> Faults:
    """The page faults of all threads of a process."""
    if not stat:
        return Faults()
    major = int(stat[_MAJFLT])
    return Faults(int(stat[_MINFLT]) + major, major)


def _stacks(status: dict[bytes, int]) -> int:
    """Bytes of kernel stacks of all threads of a process."""
    return status.get(b"Threads", 1) * _STACK


def image_of(stat: list[str]) -> object:
    """A value that execve(2) changes; None if we may not read it (the fields are then 0 or 1)."""
    image = tuple(field for part in _IMAGE for field in stat[part])
    return image if any(len(field) > 1 for field in image) else None


def _numbers(path: str, pattern: re.Pattern[bytes]) -> dict[bytes, int]:
    """The numbers in a file's lines that match, by name."""
    return {name: int(number) for name, number in pattern.findall(text_of(path))}


def text_of(path: str) -> bytes:
    """The first 64 KiB of a file in /proc; empty if it is gone or we may not read it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a file object would cost as much as the read
        try:
            return os.read(file, 1 << 16)
        finally:
            os.close(file)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def whole_text_of(path: str) -> bytes | None:
    """All of a file in /proc; empty if it is gone, None if we may not read it."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except (FileNotFoundError, ProcessLookupError):
        return b""
    except PermissionError:
        return None


def _clock(tgid: int, which: int) -> int | None:
    """A CPU clock of a process in ns; None if it is gone. Any process may read it (clock_getcpuclockid(3))."""
    try:
        return time.clock_gettime_ns(~tgid << 3 | which)
    except OSError:
        return None
