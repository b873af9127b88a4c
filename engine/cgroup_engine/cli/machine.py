"""The size of this machine, for options that are not given."""

from __future__ import annotations

import os

from cgroup_engine.errors import RootError


def online_cpus() -> int:
    """CPUs that are online."""
    return os.sysconf("SC_NPROCESSORS_ONLN")


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
