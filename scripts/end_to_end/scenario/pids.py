"""A pod that forks past pids.max is refused at the limit, and no one else is."""

from __future__ import annotations

import sys
from pathlib import Path

from .checks import Checks
from .node import PIDS, Node
from .processes import SLEEP, Processes, alive
from .tree import Tree
from .waiting import until

_FORKS = [sys.executable, "-S", str(Path(__file__).with_name("forks.py"))]
_OTHERS = ("steady", "elastic", "spare")


def exhausted(node: Node, tree: Tree, checks: Checks) -> None:
    told = node.explained()
    path = told["batch"]["cgroup"]
    with Processes(node) as processes:
        bomb = processes.start("batch/work", _FORKS)
        until(lambda: bomb.printed().endswith("\n"))
        made, _, why = bomb.printed().strip().partition(" ")
        checks.equal("batch: tasks at the refusal", int(tree.value(path, "pids.current")), PIDS)
        checks.equal("batch: forks that succeeded", int(made), PIDS - 1)
        checks.equal("batch: errno of the next one", why, "EAGAIN")
        refused = {pod: _refused(tree, told, pod) for pod in ("batch", *_OTHERS)}
        checks.at_least("batch: refusals counted", refused["batch"], 1)
        others = [processes.start(name, SLEEP) for name in told if "/" in name and name.split("/")[0] in _OTHERS]
        checks.equal("other pods: processes started meanwhile", sum(map(alive, others)), len(others))
        checks.equal("other pods: refusals counted", sum(refused[pod] for pod in _OTHERS), 0)


def _refused(tree: Tree, told: dict[str, dict[str, object]], pod: str) -> int:
    """In the pod and its containers: which of them counts depends on the kernel."""
    return sum(tree.refused_forks(str(about["cgroup"])) for name, about in told.items() if name.split("/")[0] == pod)
