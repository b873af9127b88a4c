"""Shell commands for the steps' scripts: read cgroup files, find cgroups, enter one."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Limits of a cgroup. ``quota``: µs of 100 ms; ``cpus``: a list of CPUs."""

    memory: str
    quota: int
    shares: int
    cpus: str


def read_files(layout: str, cgroup: str, v2: str, v1: str) -> str:
    """A command that prints files of a cgroup on one line: names for v2, and names with their hierarchy for v1."""
    if layout == "v2":
        return f"(cd /sys/fs/cgroup/{cgroup} && cat {v2}) | paste -sd' '"
    files = " ".join(f"{name.partition('/')[0]}/{cgroup}/{name.partition('/')[2]}" for name in v1.split())
    return f"(cd /sys/fs/cgroup && cat {files}) | paste -sd' '"


def by_layout(layout: str, v2: str, v1: str) -> str:
    """The text for a layout: hybrid takes v1's, as its controllers are there."""
    return v2 if layout == "v2" else v1


def find_cgroups(name: str) -> str:
    """A command that prints all cgroups with this name, in any hierarchy."""
    return f"find /sys/fs/cgroup -name '{name}'"


def enter_cgroup(layout: str, limits: Limits) -> str:
    """Commands that make the cgroup app with these limits and move the shell into it."""
    memory, quota, shares, cpus = limits
    if layout == "v2":
        weight = 1 + (shares - 2) * 9999 // 262142
        return f"""cd /sys/fs/cgroup && echo +cpu +cpuset +memory +pids >cgroup.subtree_control &&
            mkdir app && cd app &&
            echo {memory} >memory.max && echo {quota} >cpu.max && echo {weight} >cpu.weight &&
            echo {cpus} >cpuset.cpus && echo 0 >cgroup.procs"""
    return f"""cd /sys/fs/cgroup && mkdir memory/app cpu/app cpuset/app pids/app &&
        echo {memory} >memory/app/memory.limit_in_bytes && echo {quota} >cpu/app/cpu.cfs_quota_us &&
        echo {shares} >cpu/app/cpu.shares && echo {cpus} >cpuset/app/cpuset.cpus && echo 0 >cpuset/app/cpuset.mems &&
        for name in memory cpu cpuset pids; do echo 0 >$name/app/cgroup.procs; done"""
