"""``cgroup-engine run``: strangers' changes are put right, pods come and go, a signal ends it and changes nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from .checks import Checks
from .drift import meddle
from .engine import Running
from .node import EXTRA, Node
from .processes import SLEEP, Processes, alive, fate
from .tree import Tree

#: Seconds after which what did not happen will not. A machine that is emulated on a busy one takes its time.
_PATIENCE = 60.0


def kept(node: Node, tree: Tree, checks: Checks) -> None:
    told = node.explained()
    with Processes(tree) as processes, node.keeper() as keeper:
        lives = [processes.start(told[name]["cgroup"], SLEEP) for name in ("steady/work", "elastic/front")]
        _until(lambda: "reconciled" in keeper.log())
        checks.equal("on the tree of apply: nothing to do", "nothing to do" in keeper.log(), True)
        checks.equal("apply meanwhile, a second engine: exit code", node.apply().code, 1)
        _stranger(node, tree, checks, keeper)
        _pod_comes_and_goes(node, tree, checks, processes)
        checks.equal("exit code after SIGTERM", keeper.end(signal.SIGTERM), 0)
        checks.equal("files and cgroups that differ after it", len(node.differing()), 0)
        checks.equal("processes that live on", sum(map(alive, lives)), len(lives))
    checks.equal("apply after it: nothing to do", "nothing to do" in node.apply().out, True)


def _stranger(node: Node, tree: Tree, checks: Checks, keeper: Running) -> None:
    meddled = meddle(tree, node.explained())
    took = _until(meddled.undone)
    checks.at_most("seconds until a stranger's changes are undone", took, _PATIENCE)
    count = len(meddled.before) + 1
    _until(lambda: meddled.named(keeper.log()) == count)  # it tells afterwards
    checks.equal("changes of a stranger that its log names", meddled.named(keeper.log()), count)


def _pod_comes_and_goes(node: Node, tree: Tree, checks: Checks, processes: Processes) -> None:
    (name,) = EXTRA
    node.add(name, EXTRA[name], 9)
    path = node.explained()[f"{name}/work"]["cgroup"]
    limit = tree.file(path, "memory.max" if tree.version == 2 else "memory.limit_in_bytes")
    took = _until(lambda: limit.exists() and limit.read_text().strip() == str(32 << 20))
    checks.at_most("seconds until a new pod has its limits", took, _PATIENCE)
    lives = processes.start(path, SLEEP)
    node.remove(name)
    took = _until(lambda: not tree.directories(str(Path(path).parent)))
    checks.at_most("seconds until a pod that is gone has no cgroup", took, _PATIENCE)
    checks.equal("its process", "lives" if alive(lives) else fate(lives.wait()), "killed")


def _until(done: Callable[[], bool]) -> float:
    """Seconds until something is so; more than ``_PATIENCE`` if it did not become so."""
    start = time.monotonic()
    while (took := time.monotonic() - start) <= _PATIENCE and not done():
        time.sleep(0.02)
    return took
