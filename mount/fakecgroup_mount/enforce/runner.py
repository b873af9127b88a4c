"""A real process whose CPU time is limited, and the groups with a quota that it is in. Times are ns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from fakecgroup.controllers.cpu.css import Cpu
from fakecgroup.simulation.cpu_pressure import Piece
from fakecgroup_mount.enforce.quota import Quota
from fakecgroup_mount.enforce.shares import Contestant
from fakecgroup_mount.host.tasks import running_threads
from fakecgroup_mount.host.usage import clock_id, waited

_ENOUGH = 10_000_000  # of an interval in which a process was not held: what it wants is measured in that


@dataclass(slots=True, eq=False)
class Runner:
    """A process, and its CPU `clock` at the last look. `start` is its start time in /proc/PID/stat.

    `home` is its group, `limited` are the groups with a quota here and above, the topmost first. As a `contestant` it
    competes with those of other groups. It is `lively` if it ran between the last two looks at all. So many of its
    threads are `held`, `since` a time.
    """

    tgid: int
    start: str
    clock: int
    contestant: Contestant
    home: Cpu
    limited: list[Limited] = field(default_factory=list)
    lively: bool = True
    held: int = 0
    since: int = 0
    evades: int = 0  # ns until it is looked at again, as it did not run when it was to be held
    stood: int = 0  # since it was last measured: held, as a whole
    stood_threads: int = 0  # the same, summed over its threads
    measured_clock: int = 0
    measured_wait: int | None = None

    clock_id: int = field(init=False)

    def __post_init__(self) -> None:
        self.measured_clock = self.clock
        self.clock_id = clock_id(self.tgid)

    @property
    def stirred(self) -> bool:
        """Whether it may have done something since it was last measured."""
        return self.lively or self.held > 0 or self.stood > 0 or self.contestant.demand > 0

    @property
    def throttled(self) -> bool:
        """Whether it has to wait for a quota."""
        return any(one.quota.group.throttled for one in self.limited)

    @property
    def waits(self) -> bool:
        """Whether it has to wait, for a quota or for others."""
        return self.contestant.waits or self.throttled

    def now_held(self, threads: int, now: int) -> None:
        """Takes how many of its threads are held from now on."""
        if self.held:
            self.stood += now - self.since
            self.stood_threads += self.held * (now - self.since)
        self.held, self.since = threads, now

    def measure(self, now: int, passed: int) -> Piece | None:
        """What it did in the time that has `passed` until now; None for nothing. Sets the contestant's demand."""
        self.now_held(self.held, now)
        used, self.measured_clock = self.clock - self.measured_clock, self.clock
        stood, stood_threads, self.stood, self.stood_threads = self.stood, self.stood_threads, 0, 0
        if not used and not stood and not self.lively:
            self.contestant.demand = 0.0
            return None
        threads, total = waited(self.tgid)
        known, self.measured_wait = self.measured_wait, total
        wait = max(0, total - known) if known is not None else 0
        if known is None:
            self.contestant.demand = float(max(1, len(running_threads(self.tgid, self.start))))
        elif passed - stood > _ENOUGH:
            wanted = min((used + wait) / (passed - stood), float(threads))
            self.contestant.demand = max(wanted, (wanted + self.contestant.demand) / 2)
        wait += stood_threads
        if not used + wait:
            return None
        return Piece(used, used + wait, wait, max(1, math.ceil((used + wait) / passed - 0.1)))


@dataclass(slots=True, eq=False)
class Limited:
    """A group with a quota and its processes.

    `used` are the ns that they used since its last look. The next is `due` at a time, or when somebody runs.
    """

    css: Cpu
    quota: Quota
    runners: list[Runner] = field(default_factory=list)
    used: int = 0
    due: int | None = 0
    counted: int = 0  # by looks
    accounted: int = 0  # by the cgroup's account when looks began
    corrected: int = 0  # their difference
    corrections: int = 0  # `CpuGroups` had seen so many changes at the last correction

    def ends_by(self, now: int) -> bool:
        """Whether its period has ended by now."""
        return self.quota.group.active and self.quota.group.boundary <= now
