"""What booted kernels have in /proc/PID/cgroup and /proc/cgroups."""

from __future__ import annotations

SUBSYSTEMS = (
    "cpuset cpu cpuacct blkio memory devices freezer net_cls perf_event net_prio hugetlb pids rdma misc".split()
)
V1_6_1 = """\
13:misc:/
12:rdma:/
11:perf_event:/
10:net_cls,net_prio:/
9:hugetlb:/
8:blkio:/
7:freezer:/
6:devices:/
5:cpuset:/
4:pids:/a
3:memory:/
2:cpu,cpuacct:/
1:name=systemd:/
"""
V1_7_2 = """\
11:misc:/
10:rdma:/
9:perf_event:/
8:net_cls,net_prio:/
7:hugetlb:/
6:blkio:/
5:freezer:/
4:devices:/
3:pids:/a
2:cpu,cpuacct:/
1:name=systemd:/
"""
NUMBERS_6_1 = (5, 2, 2, 8, 3, 6, 7, 10, 11, 10, 9, 4, 12, 13)
NUMBERS_7_2 = (None, 2, 2, 6, None, 4, 5, 8, 9, 8, 7, 3, 10, 11)
OF_V1 = (
    ("v1", "6.1", V1_6_1, NUMBERS_6_1),
    ("hybrid", "6.1", V1_6_1 + "0::/\n", NUMBERS_6_1),
    ("v1", "7.2", V1_7_2, NUMBERS_7_2),
    ("hybrid", "7.2", V1_7_2 + "0::/\n", NUMBERS_7_2),
)
"""Layout, kernel, the text of a process in pids:/a, and each subsystem's hierarchy (None: not listed)."""


def cgroups(*rows: tuple[str, int, int]) -> str:
    """The text of /proc/cgroups with these subsystems, hierarchies and numbers of cgroups."""
    lines = ["#subsys_name\thierarchy\tnum_cgroups\tenabled"]
    return "\n".join([*lines, *(f"{name}\t{number}\t{count}\t1" for name, number, count in rows)]) + "\n"
