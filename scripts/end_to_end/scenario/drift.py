"""Somebody changes values and removes a cgroup: `status` marks it, `apply` repairs it, and processes live on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cgroups import Cgroups
from .checks import Checks
from .node import Node
from .processes import SLEEP, Processes, alive

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
class Drift:
    """Changes made behind the engine's back.

    ``before``: file -> its old text; ``removed``: the directories of one cgroup.
    """

    cgroups: Cgroups
    before: Mapping[Path, str]
    removed: Sequence[Path]

    @property
    def marks(self) -> dict[str, str]:
        """Path -> the state that ``status`` should give."""
        files = {self.cgroups.relative(path): "drift" for path in self.before}
        return files | {self.cgroups.relative(directory): "missing" for directory in self.removed}

    def other(self, marked: Iterable[str]) -> list[str]:
        """Marked paths that were not changed and are not in the removed cgroup."""
        return [path for path in marked if path not in self.marks and path.rpartition("/")[0] not in self.marks]

    def named(self, text: str) -> int:
        """How many of the changes a text names. The removed cgroup counts once, in however many hierarchies it was."""
        files = sum(self.cgroups.relative(path) in text for path in self.before)
        return files + any(self.cgroups.relative(directory) in text for directory in self.removed)

    def undone(self) -> bool:
        """Whether all old values and the removed cgroup are back."""
        files = all(path.read_text() == text for path, text in self.before.items())
        return files and all(directory.is_dir() for directory in self.removed)


def cause_drift(cgroups: Cgroups, explained: Mapping[str, Mapping[str, Any]]) -> Drift:
    """Writes values and removes a cgroup, as another program might."""
    before = {}
    for name, *files in _WRITTEN:
        file, value = files[cgroups.version - 1]
        path = cgroups.file(explained[name]["cgroup"], file)
        before[path] = path.read_text()
        path.write_text(value)
    removed = cgroups.directories(explained[_REMOVED]["cgroup"])
    for directory in removed:
        directory.rmdir()
    return Drift(cgroups, before, removed)


def check_apply(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    explained = node.explained()
    with Processes(node) as processes:
        lives = [processes.start(name, SLEEP) for name in ("steady/work", "elastic/front")]
        drift = cause_drift(cgroups, explained)
        marked = node.differing()
        right = len(drift.marks.items() & marked.items())
        checks.equal("changes of a stranger that status marks", right, len(drift.marks))
        checks.equal("other files that it marks", len(drift.other(marked)), 0)
        checks.equal("apply: exit code", node.apply().code, 0)
        checks.equal("files and cgroups that differ after it", len(node.differing()), 0)
        checks.equal("processes that live on", sum(map(alive, lives)), len(lives))
