"""What a stranger changes is marked by status and put right by apply, while processes live there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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


@dataclass(frozen=True)
class Meddled:
    """What a stranger changed. ``before``: file -> what was in it; ``removed``: the directories of one cgroup."""

    tree: Tree
    before: Mapping[Path, str]
    removed: Sequence[Path]

    @property
    def marks(self) -> dict[str, str]:
        """Path -> state, as ``status`` should have it."""
        files = {self.tree.relative(path): "drift" for path in self.before}
        return files | {self.tree.relative(directory): "missing" for directory in self.removed}

    def other(self, marked: Iterable[str]) -> list[str]:
        """What is marked and neither changed nor in the cgroup that was removed."""
        return [path for path in marked if path not in self.marks and path.rpartition("/")[0] not in self.marks]

    def named(self, text: str) -> int:
        """How many of its changes a text names; the removed cgroup is one, whatever the hierarchies."""
        files = sum(self.tree.relative(path) in text for path in self.before)
        return files + any(self.tree.relative(directory) in text for directory in self.removed)

    def undone(self) -> bool:
        files = all(path.read_text() == text for path, text in self.before.items())
        return files and all(directory.is_dir() for directory in self.removed)


def meddle(tree: Tree, told: Mapping[str, Mapping[str, Any]]) -> Meddled:
    """Acts the stranger."""
    before = {}
    for name, *files in _WRITTEN:
        file, value = files[tree.version - 1]
        path = tree.file(told[name]["cgroup"], file)
        before[path] = path.read_text()
        path.write_text(value)
    removed = tree.directories(told[_REMOVED]["cgroup"])
    for directory in removed:
        directory.rmdir()
    return Meddled(tree, before, removed)


def repaired(node: Node, tree: Tree, checks: Checks) -> None:
    told = node.explained()
    with Processes(node) as processes:
        lives = [processes.start(name, SLEEP) for name in ("steady/work", "elastic/front")]
        meddled = meddle(tree, told)
        marked = node.differing()
        right = len(meddled.marks.items() & marked.items())
        checks.equal("changes of a stranger that status marks", right, len(meddled.marks))
        checks.equal("other files that it marks", len(meddled.other(marked)), 0)
        checks.equal("apply: exit code", node.apply().code, 0)
        checks.equal("files and cgroups that differ after it", len(node.differing()), 0)
        checks.equal("processes that live on", sum(map(alive, lives)), len(lives))
