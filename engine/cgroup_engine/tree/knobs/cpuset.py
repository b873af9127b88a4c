"""Lists of CPUs and of memory nodes."""

from __future__ import annotations

from dataclasses import dataclass

from cgroup_engine.model.cpu_list import parse_cpu_list
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.knobs.knob import PlainKnob, Setting
from cgroup_engine.tree.layout import Controller


@dataclass(frozen=True)
class CpusetList(PlainKnob):
    """cpuset.cpus, a list of CPUs. If it is empty, a v2 cgroup has its parent's CPUs and a v1 cgroup takes no task."""

    field: Field = "cpus"
    controller: Controller = "cpuset"
    files: tuple[str, ...] = ("cpuset.cpus",)
    default: Setting = (" ",)  # a space empties the list; a write of nothing does nothing

    def given(self, limits: CgroupLimits) -> bool:
        return limits.cpus is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return None if limits.cpus is None else (limits.cpus,)

    def same(self, wanted: str, found: str, file: str) -> bool:
        return parse_cpu_list(wanted.strip()) == parse_cpu_list(found.strip())

    def unit(self) -> str:
        return "CPUs"


CPUS = CpusetList()
MEMS = CpusetList("mems", files=("cpuset.mems",))  # NUMA nodes; written only on v1, where it must not be empty
