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

#: What a property says for "no limit", and a weight for "the kernel's default" (UINT64_MAX).
INFINITY = (1 << 64) - 1
#: What no property is for, and the kernel checks against a file that has one: both are written, in the kernel's order.
NO_PROPERTY = "memory.memsw.limit_in_bytes"
#: The systemd that takes CPUQuotaPeriodUSec first.
_HAS_PERIOD = 242
#: The systemd that takes AllowedCPUs first, and knows the cpuset controller.
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
# the v1 hierarchies where systemd always makes the directory of a slice; a cpuacct of its own is none of them
# (systemd 252)
V1_TREES = ("cpu,cpuacct", "cpu", "memory", "pids", "systemd")


def known_controllers(systemd: int) -> tuple[str, ...]:
    """The controllers that a systemd (a version) enables where a unit needs them, and disables elsewhere."""
    return ("cpu", "io", "memory", "pids", *(("cpuset",) if systemd >= _HAS_CPUS else ()))


def resource_properties(files: Mapping[str, str], systemd: int, layout: Literal[1, 2]) -> list[Property] | None:
    """The properties for what one knob's interface files shall show; None if this systemd (a version) has none.

    A quota comes out as µs of CPU per second, rounded up so that systemd's division gives the same µs per period.
    """
    files = {file: text for file, text in files.items() if file != NO_PROPERTY}
    if len(files) == 1:
        [(file, text)] = files.items()
        if file in _NUMBERS:
            return [(_NUMBERS[file], ("t", _number(text)))]
        if file == "cpuset.cpus" and layout == 2 and systemd >= _HAS_CPUS:  # on v1 systemd does nothing with it
            return [("AllowedCPUs", ("ay", _bits(text)))]
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
    """What a new slice is made of besides its values; ``parent`` is the slice above, ``-.slice`` at the top."""
    block = "IOAccounting" if layout.version == 2 else "BlockIOAccounting"
    accounting = ("MemoryAccounting", "CPUAccounting", block, "TasksAccounting")
    return [
        ("Description", ("s", f"cgroup-engine {name}")),
        ("Wants", ("as", [parent])),
        *((each, ("b", True)) for each in accounting),
        ("DefaultDependencies", ("b", False)),
    ]


def shown_properties(properties: Sequence[Property]) -> str:
    """The limits among the properties, as systemctl set-property takes them but for the units, which are D-Bus's."""
    limits = [(name, plain(value)) for name, value in properties if is_limit(value)]
    return " ".join(f"{name}={'infinity' if value == INFINITY else value}" for name, value in limits)


def is_limit(value: tuple[str, Any]) -> bool:
    """Is this variant the value of a limit, which may change at any time?"""
    return value[0] in ("t", "ay")


def plain(value: tuple[str, Any]) -> Any:
    """What a variant holds; of the bits of CPUs their list."""
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
