"""A pod that forks past pids.max is refused at the limit. No other pod is."""

from __future__ import annotations

import sys
from pathlib import Path

from .cgroups import Cgroups
from .checks import Checks
from .node import PIDS, Node
from .processes import SLEEP, Processes, alive
from .waiting import until

_FORKS = [sys.executable, "-S", str(Path(__file__).with_name("forks.py"))]
_OTHERS = ("steady", "elastic", "spare")


def check_limit(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    explained = node.explained()
    path = explained["batch"]["cgroup"]
    with Processes(node) as processes:
        bomb = processes.start("batch/work", _FORKS)
        until(lambda: bomb.printed().endswith("\n"))
        made, _, why = bomb.printed().strip().partition(" ")
        checks.equal("batch: tasks at the refusal", int(cgroups.value(path, "pids.current")), PIDS)
        checks.equal("batch: forks that succeeded", int(made), PIDS - 1)
        checks.equal("batch: errno of the next one", why, "EAGAIN")
        refused = {pod: _refused(cgroups, explained, pod) for pod in ("batch", *_OTHERS)}
        checks.at_least("batch: refusals counted", refused["batch"], 1)
        others = [processes.start(name, SLEEP) for name in explained if "/" in name and name.split("/")[0] in _OTHERS]
        checks.equal("other pods: processes started meanwhile", sum(map(alive, others)), len(others))
        checks.equal("other pods: refusals counted", sum(refused[pod] for pod in _OTHERS), 0)


def _refused(cgroups: Cgroups, explained: dict[str, dict[str, object]], pod: str) -> int:
    """Refusals counted in the pod and its containers. The kernel's version decides which of them counts."""
    return sum(
        cgroups.refused_forks(str(about["cgroup"])) for name, about in explained.items() if name.split("/")[0] == pod
    )
