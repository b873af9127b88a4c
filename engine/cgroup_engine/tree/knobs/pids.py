"""The most tasks a cgroup may hold (kernel/cgroup/pids.c)."""

from __future__ import annotations

import math

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.knobs.knob import PlainKnob, Setting
from cgroup_engine.tree.layout import Controller


class Pids(PlainKnob):
    field: Field = "pids"
    controller: Controller = "pids"
    files: tuple[str, ...] = ("pids.max",)
    default: Setting = ("max",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.pids is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return ("max",) if limits.pids is None or limits.pids < 0 else (str(limits.pids),)

    def size(self, setting: Setting) -> float:
        return math.inf if setting[0] == "max" else int(setting[0])

    def unit(self) -> str:
        return "tasks"
