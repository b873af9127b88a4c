"""The size of this machine, for options that are not given."""

from __future__ import annotations

import re

from cgroup_engine.errors import RootError


def online_cpus() -> int:
    """CPUs that are online, as for the kubelet's node capacity.

    They are the rows of /proc/stat (show_stat: for_each_online_cpu), which is the node's also in a container that has
    only some CPUs, or where a /sys is mounted anew below ``fakecgroup run`` and tells of the machine.
    """
    with open("/proc/stat", encoding="ascii") as stat:
        return sum(re.match(r"cpu\d", line) is not None for line in stat)


def meminfo(name: str) -> int:
    """A row of /proc/meminfo in bytes, as for the kubelet's node capacity."""
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    raise RootError(f"/proc/meminfo: has no {name}", path="/proc/meminfo", todo="give --memory and --swap")


def max_pids() -> int:
    """The smaller of pid_max and threads-max, as for the kubelet's capacity of pids."""
    limits = []
    for name in ("pid_max", "threads-max"):
        with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
            limits.append(int(file.read()))
    return min(limits)
