"""What one types to look at cgroups."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Program, Step
from .cgroup_commands import Limits, by_layout, enter_cgroup

_LIMITS = Limits(memory="512M", quota=150000, shares=512, cpus="0")
_ROOT = "/sys/fs/cgroup"


def _procps(layout: str) -> Sequence[Step]:
    return [
        Step(
            "ps -o cgroup",
            "the cgroups of a process, but for those that are /",
            f"({enter_cgroup(layout, _LIMITS)}; ps -o cgroup= -p $(exec sh -c 'echo $PPID'))",
            by_layout(layout, "0::/app", "5:cpuset:/app,4:pids:/app,3:memory:/app,2:cpu,cpuacct:/app"),
        )
    ]


def _util_linux(layout: str) -> Sequence[Step]:
    kinds = {"v2": ["cgroup2"], "v1": ["cgroup"] * 13, "hybrid": ["cgroup2", *["cgroup"] * 13]}[layout]
    return [
        Step(
            "findmnt -t cgroup,cgroup2",
            "a mount for each hierarchy",
            "findmnt -n -o FSTYPE -t cgroup,cgroup2",
            "\n".join(kinds),
        ),
        Step(
            "mount",
            "the same",
            f"mount | grep -c 'on {_ROOT}.* type cgroup'",
            str(len(kinds)),
        ),
        Step(
            "unshare --cgroup",
            "in a new cgroup namespace the cgroup is /",
            f"({enter_cgroup(layout, _LIMITS)}; unshare --cgroup grep '^0:\\|:memory:' /proc/self/cgroup)",
            {"v2": "0::/", "v1": "3:memory:/", "hybrid": "3:memory:/\n0::/"}[layout],
        ),
    ]


def _coreutils(layout: str) -> Sequence[Step]:
    where = by_layout(layout, _ROOT, f"{_ROOT}/memory")
    kind = by_layout(layout, "cgroup2", "cgroup")
    return [
        Step("df --output=fstype", "the file system's type", f"df --output=fstype {where} | tail -1", kind),
        Step("stat -f", "its magic number", f"stat -f -c %T {where}", f"{kind}fs"),
    ]


def _busybox(layout: str) -> Sequence[Step]:
    where = by_layout(layout, _ROOT, f"{_ROOT}/memory")
    return [
        Step(
            "busybox cat",
            "the value, though the file's size is 0",
            f"busybox mkdir {where}/a; busybox cat {where}/a/cgroup.procs; busybox cat {where}/a/notify_on_release "
            f"{where}/a/cgroup.type 2>/dev/null || true; busybox stat -c %s {where}/a/cgroup.procs",
            by_layout(layout, "domain\n0", "0\n0"),
        ),
        Step(
            "busybox mount",
            "a mount for each hierarchy",
            f"busybox mount | grep -c 'on {_ROOT}.* type cgroup'",
            {"v2": "1", "v1": "13", "hybrid": "14"}[layout],
        ),
    ]


def _bubblewrap(layout: str) -> Sequence[Step]:
    return [
        Step(
            "bwrap --unshare-cgroup",
            "in a new cgroup namespace the cgroup is /",
            f"({enter_cgroup(layout, _LIMITS)}; bwrap --bind / / --proc /proc --unshare-pid --unshare-cgroup "
            "grep '^0:\\|:memory:' /proc/self/cgroup)",
            {"v2": "0::/", "v1": "3:memory:/", "hybrid": "3:memory:/\n0::/"}[layout],
        )
    ]


def _stress_ng(_: str) -> Sequence[Step]:
    return [
        Step(
            "stress-ng --cgroup 1",
            "it passes; in the tree there is what there was before",
            """find /sys/fs/cgroup | sort >before; stress-ng --cgroup 1 --cgroup-ops 2 2>&1 | grep -o 'passed: .*'
            find /sys/fs/cgroup | sort | diff before -""",
            "passed: 1: cgroup (1)",
        ),
    ]


_ALL = ("v2", "v1", "hybrid")

PROGRAMS = (
    Program("procps", "procps", ("ps",), _procps),
    Program("util-linux", "util-linux", ("findmnt", "mount", "unshare"), _util_linux, layouts=_ALL),
    Program("coreutils", "coreutils", ("df", "stat"), _coreutils, layouts=_ALL),
    Program("busybox", "busybox-static", ("busybox",), _busybox, layouts=_ALL),
    # it mounts cgroup2, which the layout v1 has not
    Program("stress-ng", "stress-ng", ("stress-ng",), _stress_ng, layouts=("v2", "hybrid")),
    Program("bubblewrap", "bubblewrap", ("bwrap",), _bubblewrap),
)
