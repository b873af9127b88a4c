"""A plan and its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cgroup_engine.model.value import value
from cgroup_engine.plan.write import Pass
from cgroup_engine.tree.knobs import Knob
from cgroup_engine.tree.layout import Layout

Action = Literal["mkdir", "write", "rmdir", "start", "set", "stop"]  # the last three: calls for systemd's units


@value(frozen=True, slots=True)
class Step:
    """One system call's worth of change.

    ``path``: of the file or directory, relative to the root. ``text``: the text to write. ``before``: the text before.
    ``cgroup``: the cgroup's path, the same in every hierarchy. ``knob``: None for directories and for
    cgroup.subtree_control. ``usage``: the file with the bytes in use; they are written if the kernel refuses ``text``.
    ``need``: why the value is looser or tighter than both before and after for a moment. ``obstacle``: why the kernel
    will refuse the write, and what to do.
    """

    action: Action
    path: str
    cgroup: str
    why: str
    owner: str
    text: str = ""
    before: str = ""
    knob: Knob | None = None
    during: Pass = "make"
    usage: str = ""
    need: str = ""
    obstacle: str = ""

    @property
    def file(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Plan:
    """Steps in order.

    ``kept``: lines about unwanted cgroups that stay. ``waiting``: lines about containers that wait for their runtime.
    """

    layout: Layout
    steps: tuple[Step, ...]
    kept: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
