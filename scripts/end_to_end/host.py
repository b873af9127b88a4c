"""The scenario on this machine's own cgroups, below a cgroupRoot of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError

_SCRIPTS = Path(__file__).resolve().parents[1]
_ROOT = Path("/sys/fs/cgroup")
#: cpu.shares of cgroupRoot: what else runs on the machine leaves it some CPU.
_SHARES = 10240


def run(window: float, tolerance: float) -> tuple[str, int]:
    """What the scenario prints, and its exit code. Raises MachineError where it cannot run.

    ``window``: seconds for which CPU is measured; ``tolerance``: percent that a CPU figure may be off by.
    """
    if os.geteuid() != 0:
        raise MachineError("host: needs root")
    if not all((_ROOT / name / "cgroup.procs").exists() for name in ("cpu", "cpuacct", "memory", "pids", "cpuset")):
        raise MachineError("host: /sys/fs/cgroup has no cgroup v1 with cpu, cpuacct, cpuset, memory and pids")
    name = f"fcg-end-to-end-{secrets.token_hex(4)}"
    command = [sys.executable, "-m", "end_to_end.scenario", "--cgroup-root", name, "--shares", str(_SHARES)]
    command += ["--window", str(window), "--tolerance", str(tolerance)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (_SCRIPTS, _SCRIPTS.parent / "engine")))}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout, done.returncode
