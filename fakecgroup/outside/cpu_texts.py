"""/proc/cpuinfo, /proc/stat, /proc/uptime and the CPUs in /proc/PID/status of a machine with so many CPUs.

Each text is made from that of the machine below, whose processor and whose times these are. A CPU that it does not
have is like its first one, and was always idle.
"""

from __future__ import annotations

from ..late_pattern import pattern
from ..machine.machine import MAX_NUMNODES, Machine
from ..machine.online_cpus import OnlineCpus
from .cpu_lists import cpu_list, cpu_mask, cpus_of_node, node_of_cpu, numbers_of

_CPU_LINE = pattern(rb"cpu(\d+) (.*)")
_IDLE = 3  # its place among the times of /proc/stat
_TICKS = 100  # of /proc/stat, in a second (USER_HZ)
_FIELD = pattern(rb"^([^\t:]+)(\t*: ?)(.*)$")


def cpuinfo(real: bytes, machine: Machine, online: OnlineCpus) -> bytes:
    """/proc/cpuinfo: a block for each CPU that is online. Each NUMA node is a package, whose cores have one thread."""
    first, *others = real.split(b"\n\n")
    tail = others[-1] if others and not others[-1].startswith(b"processor") else b""
    lines = [_FIELD().match(line) for line in first.splitlines()]
    packages = [cpus_of_node(machine, node) for node in range(machine.numa_nodes)]
    counts = [sum(cpu in online for cpu in package) for package in packages]
    blocks = []
    for cpu in numbers_of(online.online):
        node = node_of_cpu(machine, cpu)
        numbers = {
            b"processor": cpu,
            b"physical id": node,
            b"siblings": counts[node],
            b"core id": cpu - packages[node].start,
            b"cpu cores": counts[node],
            b"apicid": cpu,
            b"initial apicid": cpu,
        }
        for field in filter(None, lines):
            value = b"%d" % numbers[field[1]] if field[1] in numbers else field[3]
            blocks.append(field[1] + field[2] + value + b"\n")
        blocks.append(b"\n")
    return b"".join(blocks) + tail


def stat(real: bytes, machine: Machine, online: OnlineCpus, uptime: float) -> bytes:
    """/proc/stat: the sum of all CPUs' times, and those of each that is online. `uptime` is seconds since the boot."""
    lines = real.splitlines(keepends=True)
    found = {int(match[1]): list(map(int, match[2].split())) for match in map(_CPU_LINE().match, lines) if match}
    width = len(next(iter(found.values()), [0] * 10))
    always_idle = [0] * width
    always_idle[_IDLE] = int(uptime * _TICKS)
    times = [found.get(cpu, always_idle) for cpu in range(machine.cpus)]
    total = [sum(column) for column in zip(*times, strict=True)]
    made = [b"cpu  " + _numbers(total)]
    made += [b"cpu%d " % cpu + _numbers(times[cpu]) for cpu in numbers_of(online.online)]
    return b"".join(made + [line for line in lines if not line.startswith(b"cpu")])


def uptime(real: bytes, machine: Machine, cpus: int) -> bytes:
    """/proc/uptime: the seconds since the boot, and those that the CPUs were idle. The machine below has `cpus`."""
    since, idle = map(float, real.split())
    if machine.cpus >= cpus:
        idle += since * (machine.cpus - cpus)
    else:
        idle = idle * machine.cpus / cpus
    return b"%.2f %.2f\n" % (since, idle)


def status(real: bytes, machine: Machine, cpus: int, mems: int) -> bytes:
    """/proc/PID/status: the CPUs and NUMA nodes that a task may use, as masks (cpuset_task_status_allowed)."""
    shown = {
        b"Cpus_allowed": cpu_mask(cpus, machine.cpus),
        b"Cpus_allowed_list": cpu_list(numbers_of(cpus)),
        b"Mems_allowed": cpu_mask(mems, MAX_NUMNODES),
        b"Mems_allowed_list": cpu_list(numbers_of(mems)),
    }
    lines = []
    for line in real.splitlines(keepends=True):
        name = line.partition(b":")[0]
        lines.append(b"%s:\t%s\n" % (name, shown[name].encode()) if name in shown else line)
    return b"".join(lines)


def _numbers(times: list[int]) -> bytes:
    return b" ".join(b"%d" % time for time in times) + b"\n"
