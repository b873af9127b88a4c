"""A real process whose CPU time is limited, and the groups with a quota that it is in."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakecgroup.controllers.cpu.css import Cpu
from fakecgroup_mount.enforce.quota import Quota


@dataclass(slots=True, eq=False)
class Runner:
    """A process, and its CPU `clock` (ns) at the last look.

    `limited` are the groups with a quota here and above. `start` is its start time in /proc/PID/stat. It is `lively` if
    it ran between the last two looks at all, and `spared` if it is never held. So many of its threads are `held`.
    """

    tgid: int
    start: str
    clock: int
    spared: bool
    limited: list[Limited] = field(default_factory=list)
    lively: bool = True
    held: int = 0

    @property
    def waits(self) -> bool:
        """Whether it has to wait for a quota."""
        return any(one.quota.group.throttled for one in self.limited)


@dataclass(slots=True, eq=False)
class Limited:
    """A group with a quota and its processes.

    `used` are the ns of those that `ran` since its last look. The next is `due` at a time (ns), or when somebody runs.
    """

    css: Cpu
    quota: Quota
    runners: list[Runner] = field(default_factory=list)
    used: int = 0
    ran: set[Runner] = field(default_factory=set)
    due: int | None = 0
    counted: int = 0  # ns, by looks
    accounted: int = 0  # ns by the cgroup's account when looks began
    corrected: int = 0  # ns of their difference
    corrections: int = 0  # `CpuLimits` had seen so many changes of processes at the last correction
