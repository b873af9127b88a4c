"""Threads and processes as /proc shows them (proc(5))."""

from __future__ import annotations

import os
import re
import signal
from errno import ESRCH

from fakecgroup.late_pattern import pattern
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.host.usage import stat_of, text_of

PF_KTHREAD = 0x00200000  # include/linux/sched.h
PF_NO_SETAFFINITY = 0x04000000
STATE, FLAGS, THREADS, START = 0, 6, 17, 19  # in the result of `stat_of`: fields 3, 9, 20, 22 of proc_pid_stat(5)
_KTHREADD = 2
_PENDING = pattern(rb"^(?:SigPnd|ShdPnd):\s+([0-9a-f]+)", re.M)
_TRACER = pattern(rb"^TracerPid:\s+(\d+)", re.M)
_STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_GONE = ("Z", "X", "")  # states of a zombie, a dead task, and no task


class Status(NamedTuple):
    """Of /proc/TID/status: the process, real and saved uid, and whether it is a zombie.

    `movable` is whether it may leave the root. A kernel thread that is bound to its CPUs, and kthreadd, may not.
    """

    tgid: int
    uid: int
    saved_uid: int
    zombie: bool
    movable: bool


def status_of(tid: int) -> Status | None:
    """Reads a thread's status; None if it is gone."""
    try:
        with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
            status = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = dict(line.partition(b":")[::2] for line in status.split(b"\n", 20))
    zombie = fields[b"State"].split()[0] in (b"Z", b"X")
    uid, _, saved_uid, _ = map(int, fields[b"Uid"].split())
    # A user process has a VmSize line, a zombie and a kernel thread have none.
    movable = zombie or b"\nVmSize:" in status or not _is_bound(tid)
    return Status(int(fields[b"Tgid"]), uid, saved_uid, zombie, movable)


def live_threads(tgid: int) -> list[int] | None:
    """The threads of a process, without a leader that has exited before the others; None if the process is gone."""
    try:
        tids = [int(name) for name in os.listdir(f"/proc/{tgid}/task")]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return [tid for tid in tids if tid != tgid or is_live(tgid)]


def running_threads(tgid: int, start: str) -> list[int]:
    """The threads of a process that run or wait for a CPU; none if `start` is not its start time in /proc/PID/stat."""
    stat = stat_of(tgid)
    if not stat or stat[START] != start:
        return []
    if stat[THREADS] == "1":
        return [tgid] if stat[STATE] == "R" else []
    return [tid for tid in live_threads(tgid) or () if state(tid) == "R"]


def processes() -> list[int]:
    """All processes, zombies included."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def newest_pid() -> int:
    """The last field of /proc/loadavg (proc(5))."""
    return int(text_of("/proc/loadavg").rsplit(maxsplit=1)[1])


def is_live(tid: int) -> bool:
    """Whether a thread exists and is no zombie."""
    return state(tid) not in _GONE


def state(tid: int) -> str:
    """The state letter of /proc/TID/stat; "" if the thread is gone."""
    return text_of(f"/proc/{tid}/stat").rpartition(b")")[2][1:2].decode()


def pending_stops(tgid: int) -> list[signal.Signals]:
    """The stop signals that others have sent to a process that we have stopped: it would get them when it goes on.

    While it has not stopped yet, a pending SIGSTOP is ours.
    """
    status = text_of(f"/proc/{tgid}/status")
    masks = [int(mask, 16) for mask in _PENDING().findall(status)]
    stops = _STOPS if b"\nState:\tT" in status else _STOPS[1:]
    return [number for number in stops if any(mask >> (number - 1) & 1 for mask in masks)]


def tracer_of(tgid: int) -> int:
    """Who traces a process (ptrace(2)); 0 for nobody."""
    found = _TRACER().search(text_of(f"/proc/{tgid}/status"))
    return int(found[1]) if found else 0


def leader(tid: int) -> int:
    """The process of a thread; 0 if it is gone."""
    try:
        os.close(os.pidfd_open(tid))
    except OSError as error:
        if error.errno == ESRCH:
            return 0
    else:
        return tid  # only a leader has a pidfd without PIDFD_THREAD
    try:
        with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
            status = file.read(1024)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(status[status.index(b"\nTgid:") + 6 :].split(maxsplit=1)[0])


def _is_bound(tid: int) -> bool:
    """Whether a kernel thread must stay in the root (kernel/cgroup/cgroup.c, cgroup_procs_write_start)."""
    if tid == _KTHREADD:
        return True
    stat = stat_of(tid)
    return bool(stat) and bool(int(stat[FLAGS]) & PF_NO_SETAFFINITY)
