"""A pod, then the whole hierarchy, is removed: not while a process lives there, and then without a rest."""

from __future__ import annotations

import signal
from pathlib import Path

from .cgroups import Cgroups
from .checks import Checks
from .node import EXTRA, Node
from .processes import SLEEP, Processes, alive


def check_pod(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    (name,) = EXTRA
    node.add(name, EXTRA[name], 9)
    checks.equal("apply with one pod more: exit code", node.apply().code, 0)
    path = node.explained()[f"{name}/work"]["cgroup"]
    with Processes(node) as processes:
        lives = processes.start(f"{name}/work", SLEEP)
        node.remove(name)
        done = node.apply()
        checks.equal("apply without it, while a process lives there: exit code", done.code, 1)
        checks.equal("it names the process", f"process {lives.pid} " in done.err, True)
        checks.equal("the process lives on", alive(lives), True)
        lives.end(signal.SIGKILL)
        checks.equal("apply after its end: exit code", node.apply().code, 0)
    checks.equal("cgroups of the pod that are left", len(cgroups.directories(str(Path(path).parent))), 0)


def check_down(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    with Processes(node) as processes:
        lives = processes.start("steady/work", SLEEP)
        checks.equal("down while a process lives there: exit code", node.down().code, 1)
        checks.equal("the process lives on", alive(lives), True)
    checks.equal("down: exit code", node.down().code, 0)
    top = node.cgroup_root or "kubepods"
    checks.equal("cgroups that are left", len(cgroups.directories(top)), 0)
    checks.equal("down again: nothing to remove", "nothing to remove" in node.down().out, True)
