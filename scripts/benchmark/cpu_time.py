"""The CPU time of other processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from .environment import environment
from .errors import BenchmarkError


def cpu_ns(pid: int) -> int:
    """CPU time of a process's threads so far."""
    return sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def cpu_seconds(program: str, arguments: Sequence[str] = ()) -> float:
    """CPU time of a whole process of Python; what it says is not shown, and its modules are compiled.

    :raises BenchmarkError: it failed. The last line on its stderr says why.
    """
    with TemporaryFile() as complaints:
        actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, complaints.fileno(), 2)]
        command = [sys.executable, "-c", program, *arguments]
        pid = os.posix_spawn(sys.executable, command, environment(), file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            complaints.seek(0)
            why = complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise BenchmarkError(f"python -c {program!r} failed: {why or os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime
