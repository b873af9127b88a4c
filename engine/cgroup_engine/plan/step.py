"""A plan and its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cgroup_engine.plan.write import Pass
from cgroup_engine.tree.knobs import Knob
from cgroup_engine.tree.layout import Layout

Action = Literal["mkdir", "write", "rmdir", "start", "set", "stop"]  # the last three of systemd's units


@dataclass(frozen=True)
class Step:
    """One system call's worth of change.

    ``path`` is relative to the root. ``text`` is what is written and ``before`` what was there. ``cgroup`` is the
    cgroup's path, the same in every tree. ``knob`` is None for the directories and for cgroup.subtree_control.
    ``usage``: the file with the bytes in use, which are written instead if the kernel refuses ``text``. ``need``: why
    what is there then is looser or tighter than both before and after. ``obstacle``: what is in the way so that the
    kernel will refuse it, and what to do.
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
    """Steps in order, what is left as it is although it is not wanted, and what waits for someone else to make it."""

    layout: Layout
    steps: tuple[Step, ...]
    kept: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
