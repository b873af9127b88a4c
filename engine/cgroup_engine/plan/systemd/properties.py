"""Interface files as properties of a unit (systemd.resource-control(5)), in D-Bus types.

Source: ``opencontainers/cgroups/systemd``: genV1ResourcesProperties, genV2ResourcesProperties, addCPUQuota, addCpuset,
RangeToBits, Apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.limits import DEFAULT_PERIOD_US
from cgroup_engine.tree.layout import Layout

Property = tuple[str, tuple[str, Any]]
"""A name, and the D-Bus signature and value of a variant."""

#: UINT64_MAX: "no limit" in a property, "the kernel's default" in a weight.
INFINITY = (1 << 64) - 1
#: It has no property, and the kernel checks it against a file that has one. So both are written, in the kernel's order.
NO_PROPERTY = "memory.memsw.limit_in_bytes"
#: The first systemd with CPUQuotaPeriodUSec.
_HAS_PERIOD = 242
#: The first systemd with AllowedCPUs, AllowedMemoryNodes and the cpuset controller.
_HAS_CPUS = 244

# weights, bytes and tasks: the number is the file's own
_NUMBERS = {
    "cpu.weight": "CPUWeight",
    "memory.max": "MemoryMax",
    "memory.high": "MemoryHigh",
    "memory.low": "MemoryLow",
    "memory.min": "MemoryMin",
    "memory.swap.max": "MemorySwapMax",
    "pids.max": "TasksMax",
    # v1
    "cpu.shares": "CPUShares",
    "memory.limit_in_bytes": "MemoryLimit",
}
# lists of CPUs and of NUMA nodes, as bit masks
_MASKS = {"cpuset.cpus": "AllowedCPUs", "cpuset.mems": "AllowedMemoryNodes"}
# the v1 hierarchies where systemd always makes the directory of a slice (seen of systemd 252); a cpuacct hierarchy of
# its own is not among them
V1_HIERARCHIES = ("cpu,cpuacct", "cpu", "memory", "pids", "systemd")


def known_controllers(systemd: int) -> tuple[str, ...]:
    """The controllers that systemd enables where units need them, and disables elsewhere; ``systemd``: its version."""
    return ("cpu", "io", "memory", "pids", *(("cpuset",) if systemd >= _HAS_CPUS else ()))


def resource_properties(files: Mapping[str, str], systemd: int, layout: Literal[1, 2]) -> list[Property] | None:
    """The properties that set one knob's interface files to these texts; None if there are none.

    ``systemd``: its version. A quota becomes µs of CPU per second, rounded up so that systemd's division gives the same
    µs per period.
    """
    files = {file: text for file, text in files.items() if file != NO_PROPERTY}
    if len(files) == 1:
        [(file, text)] = files.items()
        if file in _NUMBERS:
            return [(_NUMBERS[file], ("t", _number(text)))]
        if file in _MASKS and layout == 2 and systemd >= _HAS_CPUS:  # on v1 systemd does nothing with them
            return [(_MASKS[file], ("ay", _bits(text)))]
        if file != "cpu.max":
            return None
        quota, period = text.split()
    elif "cpu.cfs_quota_us" in files:
        quota, period = files["cpu.cfs_quota_us"], files["cpu.cfs_period_us"]
    else:
        return None
    if systemd < _HAS_PERIOD and int(period) != DEFAULT_PERIOD_US:
        return None
    number = _number(quota)
    per_second = number if number == INFINITY else -(-number * 1_000_000 // int(period))
    properties: list[Property] = [("CPUQuotaPeriodUSec", ("t", int(period)))] if systemd >= _HAS_PERIOD else []
    return [*properties, ("CPUQuotaPerSecUSec", ("t", per_second))]


def slice_properties(name: str, parent: str, layout: Layout) -> list[Property]:
    """The properties of a new slice besides its limits; ``parent``: the slice above, ``-.slice`` at the top."""
    block = "IOAccounting" if layout.version == 2 else "BlockIOAccounting"
    accounting = ("MemoryAccounting", "CPUAccounting", block, "TasksAccounting")
    return [
        ("Description", ("s", f"cgroup-engine {name}")),
        ("Wants", ("as", [parent])),
        *((each, ("b", True)) for each in accounting),
        ("DefaultDependencies", ("b", False)),
    ]


def shown_properties(properties: Sequence[Property]) -> str:
    """The limits among the properties, in the form of systemctl set-property with D-Bus's units."""
    limits = [(name, plain(value)) for name, value in properties if is_limit(value)]
    return " ".join(f"{name}={'infinity' if value == INFINITY else value}" for name, value in limits)


def is_limit(value: tuple[str, Any]) -> bool:
    """Is this variant a limit, which an active unit lets change?"""
    return value[0] in ("t", "ay")


def plain(value: tuple[str, Any]) -> Any:
    """The content of a variant; a bit mask of CPUs becomes a list."""
    signature, content = value
    if signature != "ay":
        return content
    bits = int.from_bytes(content, "little")
    return cpu_list(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def _bits(cpus: str) -> bytes:
    bits = sum(1 << cpu for cpu in parse_cpu_list(cpus.strip()))
    return bits.to_bytes(-(-bits.bit_length() // 8), "little")


def _number(text: str) -> int:
    return INFINITY if text == "max" or text.startswith("-") else int(text)
