"""The values of one cgroup, and how a node limits CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cgroup_engine.model.value import value

DEFAULT_PERIOD_US = 100_000


@dataclass(frozen=True)
class CfsQuota:
    """How the node limits CPU: cpuCFSQuota (on or off), and cpuCFSQuotaPeriod in µs."""

    enforced: bool = True
    period_us: int = DEFAULT_PERIOD_US


@value(frozen=True, slots=True)
class CgroupLimits:
    """The values of one cgroup (the kubelet's ResourceConfig); None is "not set", the kernel's default.

    ``shares``: 2..262144. ``quota_us``: µs of CPU per period, -1 is unlimited. ``period_us``: µs. ``memory``: bytes.
    ``pids``: tasks. ``hugepages``: bytes of a page -> bytes; sizes that are not in it are not set; with
    ``hugepage_reservations`` (rsvd) too. ``cpus``, ``mems``: lists of CPUs and of NUMA nodes, such as "0-3".

    Of cgroup v2 alone (the kubelet's ``Unified``): ``memory_min``, ``memory_low``, ``memory_high`` and ``swap`` (beside
    memory) in bytes, and ``oom_group``. ``weight``: cpu.weight, 1..10000, which stands for
    the shares there.
    """

    shares: int | None = None
    quota_us: int | None = None
    period_us: int | None = None
    memory: int | None = None
    pids: int | None = None
    hugepages: Mapping[int, int] = field(default_factory=dict)
    hugepage_reservations: bool = True
    memory_min: int | None = None
    memory_low: int | None = None
    memory_high: int | None = None
    swap: int | None = None
    oom_group: bool | None = None
    cpus: str | None = None
    mems: str | None = None
    weight: int | None = None

    @property
    def unified(self) -> dict[str, str]:
        """The v2 files that the kubelet itself names (``Unified``), as it hands them to libcontainer or the runtime."""
        given = {
            "memory.min": self.memory_min,
            "memory.low": self.memory_low,
            "memory.high": self.memory_high,
            "memory.swap.max": self.swap,
            "memory.oom.group": self.oom_group,
        }
        return {file: str(int(value)) for file, value in given.items() if value is not None}
