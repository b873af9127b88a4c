"""crun and runc with the bundle in examples/bundle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..program import Program, Step
from .cgroup_commands import by_layout, find_cgroups, read_files

UNPACK = Path(__file__).resolve().parents[3] / "examples" / "bundle" / "unpack"
_CGROUP = "demo/c1"


def bundle(*, cgroup_namespace: bool = True) -> str:
    """Commands that make the bundle and go there; `status RUNTIME` then prints the state of its container."""
    edit = """sed -i '/"cgroup" }/d; s/"user" },/"user" }/' config.json"""
    return f"""cd /run && rm -rf bundle && {UNPACK} bundle && cd bundle && {"true" if cgroup_namespace else edit}
        status() {{ "$@" state c1 | sed -n 's/.*"status": "\\(.*\\)",*/\\1/p'; }}
        stopped() {{ for i in $(seq 100); do [ "$(status "$@")" = stopped ] && break; sleep 0.05; done; }}"""


def steps(runtime: str, layout: str) -> Sequence[Step]:
    """A container from its start to its end."""
    limits = read_files(
        layout,
        _CGROUP,
        "memory.max memory.low memory.swap.max cpu.max cpuset.cpus pids.max",
        "memory/memory.limit_in_bytes memory/memory.soft_limit_in_bytes memory/memory.memsw.limit_in_bytes "
        "cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us cpu/cpu.shares cpuset/cpuset.cpus pids/pids.max",
    )
    update = read_files(
        layout,
        _CGROUP,
        "memory.max cpu.max pids.max",
        "memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us pids/pids.max",
    )
    procs = by_layout(layout, "", "memory/") + f"{_CGROUP}/cgroup.procs"
    events = read_files(layout, _CGROUP, "pids.events", "pids/pids.events")
    frozen = by_layout(layout, f"grep frozen {_CGROUP}/cgroup.events", f"cat freezer/{_CGROUP}/freezer.state")
    mine = by_layout(layout, "^0:", ":memory:")
    shown = by_layout(layout, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
    found = [
        Step(
            "run --detach",
            "the files hold the limits on memory, swap, CPU, CPUs and pids",
            f"{bundle()}\n{runtime} run --detach c1 >log 2>&1 || cat log; {limits}",
            by_layout(
                layout,
                "134217728 67108864 134217728 50000 100000 0-1 64",
                "134217728 67108864 268435456 50000 100000 512 0-1 64",
            ),
        ),
        Step(
            "state",
            "running; its process is in the cgroup",
            f"""status {runtime}; cd /sys/fs/cgroup; grep -h {mine} /proc/$(head -1 {procs})/cgroup; cd - >/dev/null""",
            "running\n" + by_layout(layout, f"0::/{_CGROUP}", f"3:memory:/{_CGROUP}"),
        ),
        Step(
            "exec",
            "in the cgroup namespace the cgroup is /, and what is mounted there is the container's own",
            f"{runtime} exec c1 grep {mine} /proc/self/cgroup; {runtime} exec c1 cat {shown}",
            by_layout(layout, "0::/", "3:memory:/") + "\n134217728",
        ),
        Step("ps", "the one process", f"{runtime} ps c1 2>/dev/null | grep -c [0-9]", "1"),
        Step(
            "update",
            "the files hold the new limits",
            f"{runtime} update --pids-limit 65 --memory 209715200 --cpu-quota 70000 c1; {update}",
            by_layout(layout, "209715200 70000 100000 65", "209715200 70000 65"),
        ),
        Step(
            "update --pids-limit 20",
            "the container cannot fork beyond it",
            f"{runtime} update --pids-limit 20 c1\n"
            f"{runtime} exec c1 sh -c 'for i in $(seq 30); do sleep 5 & done' 2>&1 | grep -o 'can.t fork.*'; {events}",
            "can't fork: Resource temporarily unavailable\nmax 1",
        ),
        Step(
            "pause",
            "paused; frozen",
            f"{runtime} pause c1 2>/dev/null; status {runtime}; (cd /sys/fs/cgroup; {frozen})",
            "paused\n" + by_layout(layout, "frozen 1", "FROZEN"),
        ),
        Step(
            "resume",
            "running; not frozen",
            f"{runtime} resume c1 2>/dev/null; status {runtime}; (cd /sys/fs/cgroup; {frozen})",
            "running\n" + by_layout(layout, "frozen 0", "THAWED"),
        ),
        Step(
            "kill, delete",
            "no cgroup is left",
            f"{runtime} kill c1 KILL; stopped {runtime}; {runtime} delete c1; {find_cgroups('c1')}",
            "",
        ),
    ]
    if runtime.startswith("runc"):
        stats = Step(
            "events --stats",
            "the limit on pids",
            f"{runtime} events --stats c1 | grep -o '\"pids\":{{[^}}]*}}'",
            '"pids":\\{"current":[0-9]+,"limit":20\\}',
            pattern=True,
        )
        found.insert(-1, stats)
    return found


def without_namespace(runtime: str, layout: str) -> Sequence[Step]:
    """A container that sees the whole tree, in the foreground."""
    return [
        Step(
            "run, without a cgroup namespace",
            "/proc/self/cgroup in the container has the whole path; no cgroup is left",
            f"""{bundle(cgroup_namespace=False)}
            sed -i 's#"/bin/sleep", "60"#"/bin/cat", "/proc/self/cgroup"#' config.json
            {runtime} run c1 | grep {by_layout(layout, "^0:", ":memory:")}; {find_cgroups("c1")}""",
            by_layout(layout, f"0::/{_CGROUP}", f"3:memory:/{_CGROUP}"),
        )
    ]


def _all(runtime: str, layout: str) -> Sequence[Step]:
    return [*steps(runtime, layout), *without_namespace(runtime, layout)]


def _program(runtime: str) -> Program:
    return Program(runtime, runtime, (runtime, "busybox"), partial(_all, runtime), also=("busybox-static",))


PROGRAMS = (_program("crun"), _program("runc"))
