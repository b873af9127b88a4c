"""The controllers, one file each: its files, the state per cgroup, and the functions of its rows.

`CONTROLLERS` is in the kernel's order (include/linux/cgroup_subsys.h).
"""

from .cpu import CPU
from .cpuacct import CPUACCT
from .memory import MEMORY
from .pids import PIDS

CONTROLLERS = (CPU, CPUACCT, MEMORY, PIDS)

__all__ = ["CONTROLLERS", "CPU", "CPUACCT", "MEMORY", "PIDS"]
