"""CFS bandwidth: what a quota leaves of the CPU time that a tree of groups would use (kernel/sched/fair.c).

A group takes runtime while its tasks run, and is throttled when none is left. A timer refills it each period.
`BandwidthTree` follows this event by event, and jumps over periods that repeat. Times are ns, rates are CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

UNLIMITED = (1 << 64) - 1  # ns: no quota


@dataclass(slots=True, eq=False)
class Runner:
    """A process: its `rate` while nothing is throttled, and the ns of CPU time that it still `needs` (None: no end).

    `used` counts the ns that it ran, `stopped` those in which it would have run but for a throttled group. `queues` is
    the number of CPUs on which it waits then.
    """

    rate: float = 0.0
    needs: float | None = None
    used: float = 0.0
    stopped: float = 0.0
    queues: int = 1


@dataclass(slots=True, eq=False)
class Group:
    """One group and the state of its bandwidth (struct cfs_bandwidth).

    `quota` and `burst` are ns per `period`. `boundary` is when the period timer expires next, if it is `active`.
    `queues` says on how many CPUs the group's tasks wait: throttled time counts once for each.
    """

    quota: int = UNLIMITED
    period: int = 100_000_000
    burst: int = 0
    groups: list[Group] = field(default_factory=list)
    runners: list[Runner] = field(default_factory=list)
    runtime: float = 0.0
    snapshot: float = 0.0  # runtime after the last refill
    active: bool = False
    idle: bool = False
    throttled: bool = False
    boundary: int = 0
    nr_periods: int = 0
    nr_throttled: int = 0
    throttled_time: float = 0.0
    nr_bursts: int = 0
    burst_time: float = 0.0
    used: float = 0.0
    rate: float = 0.0  # now
    queues: int = 0  # throttled, now

    @property
    def limited(self) -> bool:
        return self.quota != UNLIMITED

    def below(self) -> Iterator[Group]:
        """This group and all below it."""
        yield self
        for group in self.groups:
            yield from group.below()


_COUNTERS = ("nr_periods", "nr_throttled", "throttled_time", "nr_bursts", "burst_time", "used")
_STATE = ("runtime", "snapshot", "active", "idle", "throttled", "boundary", *_COUNTERS)


class BandwidthTree:
    """A group with a quota and all below it, at a time `now`."""

    def __init__(self, root: Group, now: int) -> None:
        self.root = root
        self.now = now
        self._groups = list(root.below())
        self._limited = [group for group in self._groups if group.limited]
        self._runners = [runner for group in self._groups for runner in group.runners]
        self.set_rates()

    def completion(self, until: int) -> int:
        """When the first runner will have what it needs; `until` if none has before. Nothing changes."""
        if not any(runner.needs is not None and runner.rate > 0 for runner in self._runners):
            return until
        if not self._limited:
            waits = [runner.needs / rate for runner, rate in self._running if runner.needs is not None]
            return min(until, self.now + max(1, round(min(waits, default=until))))
        kept = self._keep()
        self.advance(until)
        then = self.now
        self._bring_back(kept)
        return then

    def advance(self, until: int, *, skip: bool = True) -> Runner | None:
        """Go on to a time, or to when a runner has what it needs: that runner is the result."""
        seen: tuple[int, tuple[object, ...], tuple[float, ...]] | None = None
        while self.now < until:
            then, runner = self._next(until)
            self._pass(then - self.now)
            if runner is not None:
                runner.needs = 0.0
                return runner
            expired = self._expire()
            self._throttle()
            self.set_rates()
            if skip and expired is self._longest():
                state = self._state()
                if seen is not None and seen[1] == state:
                    self._jump(seen[0], seen[2], until)
                    seen = None
                else:
                    seen = (self.now, state, self._counted())
        return None

    # -- one event ----------------------------------------------------------------------------------

    def _next(self, until: int) -> tuple[int, Runner | None]:
        """When something happens next, and the runner that is done then."""
        then, done = until, None
        for group in self._limited:
            if group.active:
                then = min(then, group.boundary)
            if group.rate > 0:
                then = min(then, self.now + max(1, round(group.runtime / group.rate)))
        for runner, rate in self._running:
            if runner.needs is not None and rate > 0:
                at = self.now + max(1, round(runner.needs / rate))
                if at <= then and (at < then or done is None):
                    then, done = at, runner
        return then, done

    def _pass(self, time: int) -> None:
        self.now += time
        for runner, rate in self._running:
            runner.used += rate * time
            if runner.needs is not None:
                runner.needs = max(0.0, runner.needs - rate * time)
        for runner in self._stopped:
            runner.stopped += time
        for group in self._groups:
            group.used += group.rate * time
            if group.limited:
                group.runtime -= group.rate * time
                group.throttled_time += group.queues * time

    def _expire(self) -> Group | None:
        """Handle the period timers that expire now (do_sched_cfs_period_timer). Returns the last of them."""
        last = None
        for group in self._limited:
            if not group.active or group.boundary != self.now:
                continue
            last = group
            group.boundary += group.period
            group.nr_periods += 1
            self._refill(group)
            if group.throttled:
                group.nr_throttled += 1
                group.throttled = group.runtime <= 0
                group.idle = False
            elif group.idle:
                group.active = False
            else:
                group.idle = True
        return last

    @staticmethod
    def _refill(group: Group) -> None:
        """Add the quota, and keep at most the burst of what was left (__refill_cfs_bandwidth_runtime)."""
        group.runtime += group.quota
        over = group.snapshot - group.runtime
        if over > 0.5:
            group.burst_time += over
            group.nr_bursts += 1
        group.runtime = min(group.runtime, float(group.quota + group.burst))
        group.snapshot = group.runtime

    def _throttle(self) -> None:
        for group in self._limited:
            if not group.throttled and group.rate > 0 and group.runtime < 0.5:
                group.throttled = True

    def set_rates(self) -> None:
        """Who runs now, and at which rate. A group that runs starts its timer (start_cfs_bandwidth)."""
        self._running: list[tuple[Runner, float]] = []
        self._stopped: list[Runner] = []
        self._set_rates_below(self.root, stopped=False)

    def _set_rates_below(self, group: Group, *, stopped: bool) -> tuple[float, int]:
        stopped = stopped or group.throttled
        rate, waiting = 0.0, 0
        for runner in group.runners:
            if runner.rate > 0:
                waiting += runner.queues
                if stopped:
                    self._stopped.append(runner)
                else:
                    rate += runner.rate
                    self._running.append((runner, runner.rate))
        for below in group.groups:
            its_rate, its_waiting = self._set_rates_below(below, stopped=stopped)
            rate += its_rate
            waiting += its_waiting
        group.rate = rate
        group.queues = waiting if group.throttled else 0
        if group.limited and rate > 0:
            group.idle = False
            if not group.active:
                group.active = True
                group.boundary += -(-(self.now + 1 - group.boundary) // group.period) * group.period
        return rate, waiting

    def _keep(self) -> tuple[int, list[tuple[object, ...]], list[tuple[object, ...]]]:
        groups = [tuple(getattr(group, name) for name in _STATE) for group in self._groups]
        runners: list[tuple[object, ...]] = [(runner.needs, runner.used, runner.stopped) for runner in self._runners]
        return self.now, groups, runners

    def _bring_back(self, kept: tuple[int, list[tuple[object, ...]], list[tuple[object, ...]]]) -> None:
        self.now = kept[0]
        for group, values in zip(self._groups, kept[1], strict=True):
            for name, value in zip(_STATE, values, strict=True):
                setattr(group, name, value)
        for runner, counts in zip(self._runners, kept[2], strict=True):
            runner.needs, runner.used, runner.stopped = counts  # type: ignore[assignment]
        self.set_rates()

    # -- periods that repeat ----------------------------------------------------------------------------

    def _longest(self) -> Group | None:
        return max((group for group in self._limited if group.active), key=lambda group: group.period, default=None)

    def _state(self) -> tuple[object, ...]:
        """All that decides what happens next, but what runners need."""
        return tuple(
            (
                round(group.runtime),
                round(group.snapshot),
                group.throttled,
                group.active,
                group.idle,
                group.boundary - self.now,
                group.rate,
            )
            for group in self._limited
        )

    def _counted(self) -> tuple[float, ...]:
        counts = [getattr(group, name) for group in self._groups for name in _COUNTERS]
        return (*counts, *(count for runner in self._runners for count in (runner.used, runner.stopped)))

    def _jump(self, since: int, before: tuple[float, ...], until: int) -> None:
        """Repeat what happened `since` a time as often as it fits before `until`, and before a runner is done."""
        cycle = self.now - since
        times = (until - self.now) // cycle
        counted = self._counted()
        grown = [now - then for now, then in zip(counted, before, strict=True)]
        for runner, used in zip(self._runners, grown[len(self._groups) * len(_COUNTERS) :: 2], strict=True):
            if runner.needs is not None and used > 0:
                times = min(times, int(runner.needs / used) - 1)
        if times < 1:
            return
        values = iter(zip(counted, grown, strict=True))
        for group in self._groups:
            for name in _COUNTERS:
                value, growth = next(values)
                setattr(group, name, value + growth * times)
            if group.limited and group.active:
                group.boundary += cycle * times
        for runner in self._runners:
            value, growth = next(values)
            runner.used = value + growth * times
            if runner.needs is not None:
                runner.needs -= growth * times
            value, growth = next(values)
            runner.stopped = value + growth * times
        self.now += cycle * times
