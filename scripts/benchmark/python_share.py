"""How much of an operation's CPU time is Python: the user time of the daemon, of the time of client and daemon.

The rest is FUSE in the kernel and the client. A mkdir is undone by an rmdir, so these two are measured together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import interruption
from .columns import Column
from .cpu_time import cpu_ns

_OURS = "native"
_MOST = 2.0  # seconds for each operation: the kernel samples user time some hundred times a second
_ROUND = 0.05  # seconds for each round that was made before
_BLOCK = 200  # operations between two looks at the clock
_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # ns
_USER = 11  # field 14 of proc_pid_stat(5), after the name


def measure(operations: Sequence[str], columns: Mapping[str, Column], rounds: int) -> dict[str, float]:
    """Percent by operation, the more exact the more `rounds` there are; nothing where the column is missing.

    Raises BenchmarkError, StoppedError.
    """
    if _OURS not in columns:
        return {}
    seconds = min(_MOST, _ROUND * rounds)
    return {operation: round(_percent(operation, columns[_OURS], seconds)) for operation in operations}


def _percent(operation: str, column: Column, seconds: float) -> float:
    pids = column.client.pid, column.daemon
    began, user = sum(map(cpu_ns, pids)), _user_ns(column.daemon)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        interruption.check()
        column.client.measure(operation, _BLOCK)
    return 100 * (_user_ns(column.daemon) - user) / (sum(map(cpu_ns, pids)) - began)


def _user_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[_USER]) * _TICK
