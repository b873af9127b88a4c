"""What a stranger changes is marked by status and put right by apply, while processes live there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .checks import Checks
from .node import Node
from .processes import SLEEP, Processes, alive
from .tree import Tree

#: (whose, cgroup v1: file and value, v2: file and value)
_WRITTEN = (
    ("steady/work", ("cpu.shares", "777"), ("cpu.weight", "777")),
    ("elastic/front", ("cpu.cfs_quota_us", "5000"), ("cpu.max", "5000")),
    ("elastic/back", ("memory.limit_in_bytes", "8388608"), ("memory.max", "8388608")),
    ("elastic", ("memory.limit_in_bytes", "-1"), ("memory.max", "max")),
    ("batch", ("pids.max", "max"), ("pids.max", "max")),
)
_REMOVED = "spare/work"


def repaired(node: Node, tree: Tree, checks: Checks) -> None:
    told = node.explained()
    with Processes(tree) as processes:
        lives = [processes.start(told[name]["cgroup"], SLEEP) for name in ("steady/work", "elastic/front")]
        changed = meddle(tree, told)
        marked = node.differing()
        checks.equal("changes of a stranger that status marks", len(changed.items() & marked.items()), len(changed))
        checks.equal("other files that it marks", len(others(marked, changed)), 0)
        checks.equal("apply: exit code", node.apply().code, 0)
        checks.equal("files and cgroups that differ after it", len(node.differing()), 0)
        checks.equal("processes that live on", sum(map(alive, lives)), len(lives))


def meddle(tree: Tree, told: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Acts the stranger; what it changed, with the state that ``status`` should say."""
    changed = {}
    for name, *files in _WRITTEN:
        file, value = files[tree.version - 1]
        path = tree.file(told[name]["cgroup"], file)
        path.write_text(value)
        changed[tree.relative(path)] = "drift"
    for directory in tree.directories(told[_REMOVED]["cgroup"]):
        directory.rmdir()
        changed[tree.relative(directory)] = "missing"
    return changed


def others(marked: Mapping[str, str], changed: Mapping[str, str]) -> list[str]:
    """What is marked and neither changed nor in a cgroup that was removed."""
    return [path for path in marked if path not in changed and path.rpartition("/")[0] not in changed]
