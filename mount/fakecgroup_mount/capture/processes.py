"""What /proc tells of processes: name, command line, threads, memory, CPU time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from errno import EACCES, EPERM

from fakecgroup.snapshot.content import SeenProcess
from fakecgroup_mount.capture.left_out import LeftOut

_STATUS = re.compile(rb"^(Uid|RssAnon|RssFile|RssShmem|VmSwap):\s+(\d+)", re.M)
_KIB = 1024
_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # ns
_KTHREAD = 0x00200000  # PF_KTHREAD
_FLAGS, _UTIME, _STIME, _NICE = 6, 11, 12, 16  # of stat, after the name
_MOST_ARGUMENTS = 1000
_LONGEST = 4096


def seen_process(pid: int, *, names: bool = True, left_out: LeftOut | None = None) -> SeenProcess | None:
    """One process; None if it is gone. Without `names`, its name and its command line are left out."""
    try:
        name, fields = _stat(pid)
        status = dict(_STATUS.findall(_read(f"/proc/{pid}/status")))
        threads = tuple(sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task")))
    except OSError as error:
        if error.errno in (EACCES, EPERM) and left_out is not None:
            left_out.add("processes", error, str(pid))
        return None
    command: tuple[str, ...] = ()
    if names:
        try:
            command = _words(_read(f"/proc/{pid}/cmdline"))
        except OSError as error:
            if error.errno in (EACCES, EPERM) and left_out is not None:
                left_out.add("command lines", error, name)
    sizes = {key: int(status.get(key, 0)) * _KIB for key in (b"RssAnon", b"RssFile", b"RssShmem", b"VmSwap")}
    return SeenProcess(
        pid,
        name if names else "",
        command,
        threads,
        uid=int(status.get(b"Uid", 0)),
        anon=sizes[b"RssAnon"],
        file=sizes[b"RssFile"],
        shmem=sizes[b"RssShmem"],
        swap=sizes[b"VmSwap"],
        user=int(fields[_UTIME]) * _TICK,
        system=int(fields[_STIME]) * _TICK,
        nice=max(-20, min(19, int(fields[_NICE]))),
        oom_score_adj=_oom_score_adj(pid),
        kernel=bool(int(fields[_FLAGS]) & _KTHREAD),
    )


def seen_processes(pids: Iterable[int], left_out: LeftOut, *, names: bool = True) -> dict[int, SeenProcess]:
    """Those that are still there."""
    found = ((pid, seen_process(pid, names=names, left_out=left_out)) for pid in pids)
    return {pid: seen for pid, seen in found if seen is not None}


def _stat(pid: int) -> tuple[str, list[bytes]]:
    """The name, and the fields after it."""
    before, _, rest = _read(f"/proc/{pid}/stat").rpartition(b")")
    return os.fsdecode(before.partition(b"(")[2]), rest.split()


def _words(data: bytes) -> tuple[str, ...]:
    words = data.removesuffix(b"\0").split(b"\0") if data else []
    return tuple(os.fsdecode(word[:_LONGEST]) for word in words[:_MOST_ARGUMENTS])


def _oom_score_adj(pid: int) -> int:
    try:
        return max(-1000, min(1000, int(_read(f"/proc/{pid}/oom_score_adj"))))
    except (OSError, ValueError):
        return 0


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(1 << 20)
