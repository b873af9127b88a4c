"""The interface files that the engine sets, on cgroup v1 and v2: the text for a limit, and how to read it back.

One file per controller. ``knob`` has the protocol of all knobs, ``table`` lists them.
"""

from cgroup_engine.tree.knobs.cpu import V1_QUOTA
from cgroup_engine.tree.knobs.cpuset import CPUS, MEMS
from cgroup_engine.tree.knobs.hugetlb import hugetlb_knob
from cgroup_engine.tree.knobs.knob import Knob, Setting
from cgroup_engine.tree.knobs.memory import MEMORY_AND_SWAP
from cgroup_engine.tree.knobs.table import KNOBS, knobs_for, knobs_of

__all__ = [
    "CPUS",
    "KNOBS",
    "MEMORY_AND_SWAP",
    "MEMS",
    "V1_QUOTA",
    "Knob",
    "Setting",
    "hugetlb_knob",
    "knobs_for",
    "knobs_of",
]
