"""systemd as PID 1, what asks it for cgroups, and lxcfs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..program import Program, Step
from .cgroup_commands import Limits, by_layout, enter_cgroup, find_cgroups, read_files
from .oci_runtimes import bundle

_UNDER = ("sh", str(Path(__file__).with_name("under_systemd")))
_WORK = "system.slice/work.service"


def _limits(layout: str, cgroup: str) -> str:
    return read_files(
        layout,
        cgroup,
        "memory.max cpu.max cpu.weight pids.max",
        "memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us cpu/cpu.shares pids/pids.max",
    )


def _steps(layout: str) -> Sequence[Step]:
    memory = read_files(layout, _WORK, "memory.max", "memory/memory.limit_in_bytes")
    mine = by_layout(layout, "^0:", ":memory:")
    head = by_layout(layout, "0::", "3:memory:")
    procs = read_files(layout, _WORK, "cgroup.procs", "memory/cgroup.procs")
    return [
        Step(
            "(boot as PID 1)",
            "PID 1 is in init.scope, a service in its own cgroup",
            f"cat /proc/1/comm; grep -h {mine} /proc/1/cgroup /proc/self/cgroup",
            f"systemd\n{head}/init.scope\n{head}/system.slice/steps.service",
        ),
        Step(
            "systemctl start (a service with limits)",
            "the files hold memory, CPU and tasks; its process is in the cgroup",
            f"systemctl start work.service; {_limits(layout, _WORK)}\n"
            f"[ $( {procs}) = $(systemctl show --value -p MainPID work.service) ] && echo there",
            by_layout(layout, "104857600 50000 100000 33 77", "104857600 50000 337 77") + "\nthere",
        ),
        Step(
            "systemctl set-property --runtime",
            "the file holds the new limit",
            f"systemctl set-property --runtime work.service MemoryMax=50M; {memory}",
            "52428800",
        ),
        Step(
            "systemd-run --scope",
            "the command is in a scope of its own",
            f"systemd-run --scope --unit=one -q -p MemoryMax=64M sh -c 'grep {mine} /proc/self/cgroup; "
            f"cat /sys/fs/cgroup/{by_layout(layout, '', 'memory/')}system.slice/one.scope/"
            f"{by_layout(layout, 'memory.max', 'memory.limit_in_bytes')}'",
            f"{head}/system.slice/one.scope\n67108864",
        ),
        Step(
            "systemd-run --wait --pipe",
            "a service over D-Bus; systemd hears of its end",
            f"systemd-run --wait --pipe -q --unit=two -p MemoryMax=64M grep {mine} /proc/self/cgroup",
            f"{head}/system.slice/two.service",
        ),
        Step(
            "systemd-cgls",
            "the services, with their processes",
            "systemd-cgls --no-pager >list; grep -o '─work.service\\|sleep 1000' list",
            "─work.service\nsleep 1000",
        ),
        Step(
            "systemd-cgtop -b",
            "the services, with their tasks",
            f"systemd-cgtop -b -n 2 -d 0.1 | grep {_WORK} | tail -1 | awk '{{print $1, $2}}'",
            f"{_WORK} 1",
        ),
        Step(
            "systemctl stop",
            "no cgroup is left",
            # on v1 in a container, such as this, systemd does not hear of the end of a scope
            f"systemctl stop work.service 2>/dev/null; {find_cgroups('work.service')}; {find_cgroups('two.service')}"
            + by_layout(layout, f"; {find_cgroups('one.scope')}", ""),
            "",
        ),
        *_container(layout, "crun", "system.slice/demo-c1.scope/container"),
        *_container(layout, "runc", "system.slice/demo-c1.scope"),
    ]


def _container(layout: str, runtime: str, cgroup: str) -> Sequence[Step]:
    limits = read_files(
        layout, cgroup, "memory.max cpu.max pids.max", "memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us pids/pids.max"
    )
    return [
        Step(
            f"{runtime} --systemd-cgroup run --detach",
            "the scope's files hold memory, CPU and pids",
            f"""{bundle()}
            sed -i 's#"/demo/c1"#"system.slice:demo:c1"#' config.json
            export DBUS_SESSION_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
            {runtime} --systemd-cgroup run --detach c1 >log 2>&1 || cat log
            {limits}""",
            by_layout(layout, "134217728 50000 100000 64", "134217728 50000 64"),
        ),
        Step(
            f"{runtime} delete --force",
            "no scope is left",
            f"""{runtime} delete --force c1
            for i in $(seq 40); do systemctl -q is-active demo-c1.scope || break; sleep 0.05; done
            systemctl is-active demo-c1.scope || true""",
            "inactive",
        ),
    ]


def _lxcfs(layout: str) -> Sequence[Step]:
    return [
        Step(
            "cat proc/meminfo",
            "the memory that there is for a process whose limit is 512 MiB",
            f"""mkdir /var/lib/lxcfs; lxcfs /var/lib/lxcfs >log 2>&1 &
            for i in $(seq 100); do [ -e /var/lib/lxcfs/proc/meminfo ] && break; sleep 0.05; done
            {enter_cgroup(layout, Limits(memory="512M", quota=100000, shares=1024, cpus="0"))}
            grep MemTotal /var/lib/lxcfs/proc/meminfo | tr -s ' '""",
            "MemTotal: 524288 kB",
        ),
        Step(
            "cat proc/cpuinfo",
            "the CPUs of its cpuset, of which there is one",
            "grep -c ^processor /var/lib/lxcfs/proc/cpuinfo",
            "1",
        ),
    ]


PROGRAMS = (
    Program(
        "systemd",
        "systemd",
        ("systemd-run", "systemctl", "dbus-daemon", "crun", "runc", "busybox"),
        _steps,
        also=("dbus-daemon", "crun", "runc", "busybox-static"),
        inside=_UNDER,
    ),
    Program(
        "lxcfs",
        "lxcfs",
        ("lxcfs", "unshare", "pivot_root"),
        _lxcfs,
        also=("util-linux-extra",),  # for pivot_root, from util-linux 2.42 on
        inside=("unshare", "--fork", "--pid", "--mount", "sh", str(Path(__file__).with_name("in_new_root"))),
    ),
)
