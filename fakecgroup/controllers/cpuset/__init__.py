"""The cpuset controller: sets of CPUs and nodes per cgroup, v1's exclusive ones and v2's partitions.

`state` is what a cgroup keeps, `validate` what its relatives allow, `rules` what both versions do; `partition_v5_10`,
`partition_v6_1` and `partition_v6_12` are the three ways in which kernels have gone about partitions.
"""

from ...css import Controller
from .css import Cpuset
from .dfl import DFL
from .legacy import LEGACY

CPUSET = Controller("cpuset", Cpuset, dfl=DFL, legacy=LEGACY, threaded=True, legacy_config="CPUSETS_V1")
