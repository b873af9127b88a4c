"""What a daemon costs while nothing happens: with no process in its cgroups, and with many that sleep.

Beside it a bare loop that reads the CPU clock of each of them once a second, which is the least that following what
they use can take.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fakecgroup_mount.fuse.about import DAEMON_XATTR

from . import interruption
from .columns import mounting

_LOOP = """
import sys, time
clocks = [~int(pid) << 3 | 2 for pid in sys.argv[1:]]
while True:
    time.sleep(1)
    for clock in clocks:
        time.clock_gettime_ns(clock)
"""
_SETTLE = 3.0  # seconds after a change, until which it is looked at more often


def measure(count: int, seconds: float, directory: Path) -> dict[str, Any]:
    """CPU time in ms and wakes of the daemon in so many seconds, for 0 and for `count` sleeping processes; of the loop
    too, and the ratio to it.
    """
    at = directory / "native"
    with ExitStack() as stack:
        stack.enter_context(mounting(at, ()))
        daemon = int(os.getxattr(at, DAEMON_XATTR))
        empty = spent([daemon], seconds)[0]
        group = at / "idle"
        group.mkdir()
        stack.callback(group.rmdir)
        pids = []
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen(["sleep", "3600"]))
            stack.callback(process.kill)
            pids.append(process.pid)
            (group / "cgroup.procs").write_text(str(process.pid))
        loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", _LOOP, *map(str, pids)]))
        stack.callback(loop.kill)
        full, bare = spent([daemon, loop.pid], seconds)
    ratio = round(full["cpu_ms"] / bare["cpu_ms"], 3) if bare["cpu_ms"] else None
    return {
        "run": {"processes": count, "seconds": seconds},
        "idle": {"0": empty, str(count): {**full, "ratio": ratio}},
        "loop": bare,
    }


def spent(pids: list[int], seconds: float) -> list[dict[str, Any]]:
    """What each process spends from a little later on."""
    _wait(min(_SETTLE, seconds))
    before = [(_cpu(pid), _wakes(pid)) for pid in pids]
    _wait(seconds)
    return [
        {"cpu_ms": round((_cpu(pid) - cpu) / 1e6, 3), "wakes": _wakes(pid) - wakes}
        for pid, (cpu, wakes) in zip(pids, before, strict=True)
    ]


def _wait(seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        interruption.check()
        time.sleep(min(left, 0.1))


def _cpu(pid: int) -> int:
    return time.clock_gettime_ns(~pid << 3 | 2)  # CPUCLOCK_SCHED


def _wakes(pid: int) -> int:
    """How often its threads have gone to sleep."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def table(result: dict[str, Any]) -> str:
    """A row for the daemon without and with processes, and one for the loop."""
    rows = [(f"daemon, {count} processes", figures) for count, figures in result["idle"].items()]
    rows.append(("bare loop", result["loop"]))
    lines = [f"{'':24}  {'CPU ms':>8}  {'wakes':>5}  ratio"]
    for what, figures in rows:
        ratio = "" if figures.get("ratio") is None else f"{figures['ratio']:5.2f}"
        lines.append(f"{what:24}  {figures['cpu_ms']:8.2f}  {figures['wakes']:5}  {ratio}".rstrip())
    lines += ["", f"in {result['run']['seconds']:g} s; the processes sleep"]
    return "\n".join(lines)
