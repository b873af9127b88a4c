"""``cgroup-engine run`` repairs drift and follows pods that come and go; a signal ends it and changes nothing."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from urllib.request import urlopen

from .calls import RunningCommand
from .cgroups import Cgroups
from .checks import Checks
from .drift import cause_drift
from .node import EXTRA, INTERVAL, Node
from .processes import SLEEP, Processes, alive, how_it_ended
from .waiting import PATIENCE, until

#: The most seconds for one change: an interval, and a few looks on an emulated machine on a busy host.
_SOON = INTERVAL + 30.0


def check_run(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    with Processes(node) as processes, node.keeper() as keeper:
        lives = [processes.start(name, SLEEP) for name in ("steady/work", "elastic/front")]
        until(lambda: "reconciled" in keeper.printed())
        checks.equal("on the tree of apply: nothing to do", "nothing to do" in keeper.printed(), True)
        checks.equal("apply meanwhile, a second engine: exit code", node.apply().code, 1)
        _check_drift(node, cgroups, checks, keeper)
        _check_metrics(checks, keeper)
        _check_pod_changes(node, cgroups, checks, processes)
        code = keeper.end(signal.SIGTERM)
        checks.equal("exit code after SIGTERM", code, 0, keeper.printed()[-2000:] if code else "")
        checks.equal("files and cgroups that differ after it", len(node.differing()), 0)
        checks.equal("processes that live on", sum(map(alive, lives)), len(lives))
    checks.equal("apply after it: nothing to do", "nothing to do" in node.apply().out, True)


def _check_drift(node: Node, cgroups: Cgroups, checks: Checks, keeper: RunningCommand) -> None:
    drift = cause_drift(cgroups, node.explained())
    took = until(drift.undone)
    checks.at_most("seconds until a stranger's changes are undone", took, _SOON)
    count = len(drift.before) + 1
    until(lambda: drift.named(keeper.printed()) == count)  # it tells afterwards
    checks.equal("changes of a stranger that its log names", drift.named(keeper.printed()), count)


def _check_metrics(checks: Checks, keeper: RunningCommand) -> None:
    address = re.search(r"http://127\.0\.0\.1:[0-9]+", keeper.printed())
    assert address is not None, keeper.printed()
    with urlopen(f"{address[0]}/readyz", timeout=PATIENCE) as answer:
        checks.equal("/readyz: status", answer.status, 200)
    with urlopen(f"{address[0]}/metrics", timeout=PATIENCE) as answer:
        lines = answer.read().decode().splitlines()
    drift = sum(float(line.split()[-1]) for line in lines if re.match(r"cgroup_engine_drift_total\b", line))
    checks.at_least("/metrics: drift counted", drift, 6)


def _check_pod_changes(node: Node, cgroups: Cgroups, checks: Checks, processes: Processes) -> None:
    (name,) = EXTRA
    node.add(name, EXTRA[name], 9)
    path = node.explained()[f"{name}/work"]["cgroup"]
    limit = cgroups.file(path, "memory.max" if cgroups.version == 2 else "memory.limit_in_bytes")
    took = until(lambda: limit.exists() and limit.read_text().strip() == str(32 << 20))
    checks.at_most("seconds until a new pod has its limits", took, _SOON)
    lives = processes.start(f"{name}/work", SLEEP)
    node.remove(name)
    took = until(lambda: not cgroups.directories(str(Path(path).parent)))
    checks.at_most("seconds until a pod that is gone has no cgroup", took, _SOON)
    checks.equal("its process", "lives" if alive(lives) else how_it_ended(lives.wait()), "killed")
