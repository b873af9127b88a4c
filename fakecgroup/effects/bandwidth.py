"""CFS bandwidth of a group: a quota that is used up, and a timer that refills it each period (kernel/sched/fair.c)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .fair_share import NICE_0_LOAD

UNLIMITED = (1 << 64) - 1  # ns: no quota
CPU = 10**15
"""A CPU in whole numbers, so that sums are exact: rates are in these parts of one, CPU time in these parts of a ns."""
_LEAST_BURST = 100  # ns; less is what rounding leaves


@dataclass(slots=True, eq=False)
class Runner:
    """A process: its `rate` while nothing is throttled, and the CPU time that it still `needs` (None: no end).

    `used` counts the CPU time that it had, `stopped` the ns in which it would have run but for a throttled group.
    `queues` is the number of CPUs on which it waits then. When a group beside it is throttled, it has more by its
    `weight`, up to `most`.
    """

    rate: int = 0
    needs: int | None = None
    used: int = 0
    stopped: int = 0
    queues: int = 1
    weight: int = NICE_0_LOAD
    most: int = 0


@dataclass(slots=True, eq=False)
class Group:
    """One group and the state of its bandwidth (struct cfs_bandwidth).

    `quota` and `burst` are CPU time per `period` ns, which a ns of CPU time is `unit` of. `boundary` is when the period
    timer expires next, if it is `active`. `queues` says on how many of its `cpus` the group's tasks wait: throttled
    time, in ns, counts once for each. `halted` and its time count a throttled group above too (cpu.stat.local;
    tg_throttle_down).
    """

    quota: int = UNLIMITED
    period: int = 100_000_000
    burst: int = 0
    unit: int = 1
    cpus: int = 1 << 16
    weight: int = NICE_0_LOAD
    groups: list[Group] = field(default_factory=list)
    runners: list[Runner] = field(default_factory=list)
    runtime: float = 0
    snapshot: float = 0  # runtime after the last refill
    active: bool = False
    idle: bool = False
    throttled: bool = False
    boundary: int = 0
    nr_periods: int = 0
    nr_throttled: int = 0
    throttled_time: int = 0
    nr_bursts: int = 0
    burst_time: float = 0
    rate: int = 0  # now
    queues: int = 0  # throttled, now
    halted: int = 0  # throttled here or above, now
    halted_time: int = 0

    @property
    def limited(self) -> bool:
        return self.quota != UNLIMITED

    def below(self) -> Iterator[Group]:
        """This group and all below it, each before those below it."""
        yield self
        for group in self.groups:
            yield from group.below()

    def expire(self) -> None:
        """Handle the period timer, which expires at the boundary (do_sched_cfs_period_timer)."""
        self.boundary += self.period
        self.nr_periods += 1
        self._refill()
        if self.throttled:
            self.nr_throttled += 1
            self.throttled = self.runtime <= 0
            self.idle = False
        elif self.idle:
            self.active = False
        else:
            self.idle = True

    def _refill(self) -> None:
        """Add the quota, and keep at most the burst of what was left (__refill_cfs_bandwidth_runtime)."""
        runtime = self.runtime + self.quota
        over = self.snapshot - runtime
        if over > _LEAST_BURST * self.unit:
            self.burst_time += over
            self.nr_bursts += 1
        most = self.quota + self.burst
        self.runtime = self.snapshot = min(runtime, most)

    def start(self, now: int) -> None:
        """Start the period timer, if it is not active: somebody runs (start_cfs_bandwidth)."""
        self.idle = False
        if not self.active:
            self.active = True
            self.boundary += -(-(now + 1 - self.boundary) // self.period) * self.period

    def pass_idle(self, until: int) -> None:
        """Let time pass in which nobody runs. The timer expires until it stops."""
        while self.active and self.boundary <= until:
            self.expire()

    def never_short(self, now: int, until: int) -> bool:
        """True if the runtime lasts until then at the rate of now, and the group is not throttled."""
        if self.throttled:
            return False
        rate = self.rate
        if rate * (until - now) < self.runtime or not rate:
            return True
        return rate * self.period <= self.quota and rate * (self.boundary - now) <= self.runtime

    def pass_unthrottled(self, now: int, until: int) -> None:
        """Let time pass at the rate of now, in which the runtime is never short. Timers expire."""
        rate = self.rate
        while self.active and self.boundary <= until:
            self.runtime -= rate * (self.boundary - now)
            now = self.boundary
            self.expire()
            if rate:
                self.idle = False
                left = self.quota - rate * self.period  # what a period adds
                if left >= 0 and self.boundary <= until:
                    periods = (until - self.boundary) // self.period + 1
                    self.nr_periods += periods
                    self.boundary += periods * self.period
                    self.runtime = self.snapshot = min(self.runtime + periods * left, self.quota + self.burst)
                    now = self.boundary - self.period
        self.runtime -= rate * (until - now)

    def pass_calm(self, until: int, before: int, used: Callable[[int], int]) -> int:
        """Let time pass in which somebody runs, and a period's quota is never used up, whatever the rate was.

        `used` says what was used by a time: `before` by now, and until then what is the result.
        """
        if self.active and self.boundary <= until:
            periods = (until - self.boundary) // self.period + 1
            self.nr_periods += periods
            self.boundary += periods * self.period
            by_boundary = used(self.boundary - self.period)
            left = self.runtime + periods * self.quota - (by_boundary - before)
            self.runtime = self.snapshot = min(left, self.quota + self.burst)
            self.idle = False
            before = by_boundary
        by_now = used(until)
        self.runtime -= by_now - before
        return by_now
