"""The programs of libcgroup."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Program, Step
from .cgroup_commands import by_layout, find_cgroups, read_files


def _steps(layout: str) -> Sequence[Step]:
    limit = by_layout(layout, "memory.max", "memory.limit_in_bytes")
    share = by_layout(layout, "cpu.weight", "cpu.shares")
    three = read_files(layout, "app/a", f"{limit} {share} pids.max", f"memory/{limit} cpu/{share} pids/pids.max")
    where = by_layout(layout, "^0:", "':cpu,cpuacct:\\|:memory:\\|:pids:'")
    there = by_layout(layout, "0::/app/a", "4:pids:/app/a\n3:memory:/app/a\n2:cpu,cpuacct:/app/a")
    # libcgroup 2.0.2 expects of v2 that the root has enabled the controllers, as systemd does at the boot
    enable = by_layout(layout, "echo +cpu +memory +pids >/sys/fs/cgroup/cgroup.subtree_control", "true")
    memory = by_layout(layout, "/sys/fs/cgroup", "/sys/fs/cgroup/memory")
    return [
        Step(
            "cgcreate -g cpu,memory,pids:/app/a",
            "the directory is in each hierarchy",
            f"{enable}; cgcreate -g cpu,memory,pids:/app && cgcreate -g cpu,memory,pids:/app/a; "
            f"{find_cgroups('a')} | wc -l",
            by_layout(layout, "1", "3"),
        ),
        Step(
            "cgset -r ... app/a",
            "the files hold memory, CPU and pids",
            f"cgset -r {limit}=64M -r {share}=300 -r pids.max=9 app/a; {three}",
            "67108864 300 9",
        ),
        Step(
            "cgget -r ... app/a",
            "the same values",
            f"cgget -nv -r {limit} -r {share} -r pids.max app/a",
            "67108864\n300\n9",
        ),
        Step("cgget -g pids app/a", "all files of the controller", "cgget -g pids app/a | grep max:", "pids.max: 9"),
        Step(
            "cgset --copy-from app/a app",
            "the parent has the values",
            f"cgset --copy-from app/a app; cgget -nv -r {limit} app",
            "67108864",
        ),
        Step("lscgroup", "both cgroups", "lscgroup | grep -c 'memory.*:/*/app'", "2"),
        Step(
            "lssubsys -am",
            "where each controller is mounted",
            "lssubsys -am | grep memory",
            by_layout(layout, "memory", "memory /sys/fs/cgroup/memory"),
        ),
        Step(
            "cgexec -g cpu,memory,pids:app/a",
            "the command is in the cgroup",
            f"cgexec -g cpu,memory,pids:app/a grep {where} /proc/self/cgroup",
            there,
        ),
        Step(
            "cgclassify -g cpu,memory,pids:app/a PID",
            "the process is in the cgroup",
            f"sleep 60 & cgclassify -g cpu,memory,pids:app/a $!; grep {where} /proc/$!/cgroup\n"
            f"grep -cx $! {memory}/app/a/cgroup.procs; kill $!; {{ wait $!; }} 2>/dev/null || true",
            f"{there}\n1",
        ),
        Step(
            "cgsnapshot -s memory",
            "the limit is in what it prints",
            f"cgsnapshot -s -b /dev/null memory 2>/dev/null | grep -c '{limit}.*67108864'",
            "2",
        ),
        Step(
            "cgconfigparser -l FILE",
            "makes what the file says",
            f"echo 'group parsed {{ memory {{ {limit} = 33554432; }} }}' >file; cgconfigparser -l file\n"
            f"cat {memory}/parsed/{limit}",
            "33554432",
        ),
        Step("cgclear -l FILE", "takes it away", f"cgclear -l file; {find_cgroups('parsed')}", ""),
        Step(
            "cgdelete -r",
            "no cgroup is left",
            f"for name in {by_layout(layout, 'memory', 'cpu memory pids')}; do cgdelete -r $name:app; done; "
            f"{find_cgroups('app')}",
            "",
        ),
    ]


PROGRAMS = (
    Program(
        "cgroup-tools",
        "cgroup-tools",
        ("cgcreate", "cgexec", "cgconfigparser"),
        _steps,
        layouts=("v2", "v1", "hybrid"),
    ),
)
