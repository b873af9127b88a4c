"""The cpuset controller: sets of CPUs and nodes per cgroup, v1's exclusive ones and v2's partitions.

`state` has the state per cgroup, `validate` the changes that its relatives allow, `rules` the effects of a write.
Kernels redesigned partitions several times: each `partition_vX_Y` has the name of the first kernel here with that
design.
"""

from ...core.cftype import CFType
from ...core.css import Controller
from .css import Cpuset


def _dfl() -> tuple[CFType, ...]:
    from .dfl import DFL

    return DFL


def _legacy() -> tuple[CFType, ...]:
    from .legacy import LEGACY

    return LEGACY


CPUSET = Controller("cpuset", Cpuset, dfl=_dfl, legacy=_legacy, threaded=True, legacy_config="CPUSETS_V1")
