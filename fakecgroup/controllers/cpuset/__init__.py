"""The cpuset controller: sets of CPUs and nodes per cgroup, v1's exclusive ones and v2's partitions.

`state` has the state per cgroup, `validate` the changes that its relatives allow, `rules` the effects of a write.
Kernels redesigned partitions several times: each `partition_vX_Y` has the name of the first kernel here with that
design.
"""

from ...core.css import Controller
from .css import Cpuset
from .dfl import DFL
from .legacy import LEGACY

CPUSET = Controller("cpuset", Cpuset, dfl=DFL, legacy=LEGACY, threaded=True, legacy_config="CPUSETS_V1")
