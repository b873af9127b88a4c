"""The controllers, one module or folder each: the state per cgroup, the table of files, their readers and writers.

`CONTROLLERS` is in the kernel's order (include/linux/cgroup_subsys.h).
"""

from .cpu import CPU
from .cpuacct import CPUACCT
from .cpuset import CPUSET
from .devices import DEVICES
from .freezer import FREEZER
from .hugetlb import HUGETLB
from .io import IO
from .memory import MEMORY
from .misc import MISC
from .net_cls import NET_CLS
from .net_prio import NET_PRIO
from .perf_event import PERF_EVENT
from .pids import PIDS
from .rdma import RDMA

CONTROLLERS = (
    CPUSET,
    CPU,
    CPUACCT,
    IO,
    MEMORY,
    DEVICES,
    FREEZER,
    NET_CLS,
    PERF_EVENT,
    NET_PRIO,
    HUGETLB,
    PIDS,
    RDMA,
    MISC,
)

__all__ = ["CONTROLLERS"]
