"""Lists of CPUs and of memory nodes."""

from __future__ import annotations

from cgroup_engine.model.cpu_list import parse_cpu_list
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.knobs.knob import PlainKnob, Setting
from cgroup_engine.tree.layout import Controller


class CpusetList(PlainKnob):
    """cpuset.cpus or cpuset.mems, a list of CPUs or of NUMA nodes.

    If it is empty, a v2 cgroup has its parent's, and a v1 cgroup takes no task.
    """

    controller: Controller = "cpuset"
    default: Setting = (" ",)  # a space empties the list; a write of nothing does nothing

    def __init__(self, field: Field, file: str) -> None:
        self.field, self.files = field, (file,)

    def given(self, limits: CgroupLimits) -> bool:
        return self._list(limits) is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        given = self._list(limits)
        return None if given is None else (given,)

    def _list(self, limits: CgroupLimits) -> str | None:
        return limits.cpus if self.field == "cpus" else limits.mems

    def same(self, wanted: str, found: str, file: str) -> bool:
        return parse_cpu_list(wanted.strip()) == parse_cpu_list(found.strip())

    def unit(self) -> str:
        return "CPUs" if self.field == "cpus" else "NUMA nodes"


CPUS = CpusetList("cpus", "cpuset.cpus")
MEMS = CpusetList("mems", "cpuset.mems")
