"""The cpuset controller: sets of CPUs and nodes per cgroup, v1's exclusive ones and v2's partitions.

`state` is what a cgroup keeps, `validate` what its relatives allow, `rules` what both versions do. Partitions were
thought out anew several times: `partition_v5_10` and so on, each by the first kernel here that goes about them so.
"""

from ...core.css import Controller
from .css import Cpuset
from .dfl import DFL
from .legacy import LEGACY

CPUSET = Controller("cpuset", Cpuset, dfl=DFL, legacy=LEGACY, threaded=True, legacy_config="CPUSETS_V1")
