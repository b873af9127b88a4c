"""``exec`` and ``attach``: processes in a container's cgroup, in every hierarchy, with its oom_score_adj."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .cgroups import Cgroups
from .checks import Checks
from .node import Node
from .processes import SLEEP, Processes

_CONTAINERS = ("steady/work", "elastic/front", "elastic/back", "batch/work", "spare/work")
_CAP_SYS_RESOURCE = 24


def check_exec_and_attach(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    explained = node.explained()
    with Processes(node) as processes:
        started = {name: processes.start(name, SLEEP).pid for name in _CONTAINERS}
        inside = [name for name, pid in started.items() if cgroups.pids(explained[name]["cgroup"]) == {pid}]
        checks.equal("exec: processes in their container's cgroup", len(inside), len(started))
        wanted = {name: explained[name]["oom_score_adj"] for name in started}
        lowest = -1000 if _may_lower() else _oom_score_adj(os.getpid())
        right = [name for name, pid in started.items() if _oom_score_adj(pid) == max(wanted[name], lowest)]
        note = "" if lowest == -1000 else f"without CAP_SYS_RESOURCE none below {lowest}"
        checks.equal("exec: of them with its oom_score_adj", len(right), len(started), note)
        checks.equal("exec: exit code of the command", processes.start("batch/work", ["sh", "-c", "exit 7"]).wait(), 7)
        checks.equal("exec: exit code without such a container", processes.start("batch/none", SLEEP).wait(), 1)
        with subprocess.Popen(SLEEP) as sleeper:
            try:
                checks.equal("attach: exit code", node.attach("spare/work", sleeper.pid).code, 0)
                found = cgroups.pids(explained["spare/work"]["cgroup"])
                checks.equal("attach: the process is there", sleeper.pid in found, True)
                checks.equal("attach: its oom_score_adj", _oom_score_adj(sleeper.pid), wanted["spare/work"])
            finally:
                sleeper.kill()


def _may_lower() -> bool:
    """Whether this process has CAP_SYS_RESOURCE."""
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAP_SYS_RESOURCE & 1)


def _oom_score_adj(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())
