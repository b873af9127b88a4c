"""What a quota leaves of the CPU time that a tree of groups would use (kernel/sched/fair.c).

`BandwidthTree` follows this event by event, in closed form while no group is throttled, and jumps over periods that
repeat. All is in whole numbers: it counts the same in one step and in many. Times are ns.
"""

from __future__ import annotations

from operator import attrgetter

from ..named_tuple import NamedTuple
from .bandwidth import Group, Runner
from .fair_share import fill_whole

_MOST_STATES = 100  # that are remembered to see whether periods repeat
_COUNTERS = ("nr_periods", "nr_throttled", "throttled_time", "nr_bursts", "burst_time", "halted_time")
_STATE = ("runtime", "snapshot", "active", "idle", "throttled", "boundary", *_COUNTERS)
_state_of = attrgetter(*_STATE)
_counts_of = attrgetter(*_COUNTERS)


class _Cycle(NamedTuple):
    """What repeats: a state at the end of the longest period, the `time` until it is there again, and all growth."""

    state: tuple[object, ...]
    time: int
    grown: tuple[int, ...]


_Kept = tuple[int, list[tuple[object, ...]], list[tuple[object, ...]]]


class BandwidthTree:
    """A group with a quota and all below it, at a time `now`.

    Whoever changes the rate of a runner, or what it needs, calls `back` before and `set_rates` after. What groups and
    runners have counted is that of `now` after `advance` or `back`; after `completion` it may be ahead.
    """

    def __init__(self, root: Group, now: int) -> None:
        self.root = root
        self.now = now
        self._groups = list(root.below())
        self._limited = [group for group in self._groups if group.limited]
        self._runners = [runner for group in self._groups for runner in group.runners]
        self._before: _Kept | None = None  # the state now, while that of `_then` was computed ahead
        self._then = now
        self._cycle: _Cycle | None = None  # what is known to repeat at these rates
        self._set_rates()

    def completion(self, until: int) -> int:
        """When the first runner will have what it needs; `until` if none has before."""
        if self._before is not None:
            return self._then
        if not self._needy:
            return until
        then, _ = self._first_done(until)
        if self._never_short(then):
            return then
        before = self._keep()
        self.advance(until)
        self._then, self.now, self._before = self.now, before[0], before
        return self._then

    def back(self) -> None:
        """Forget what was computed ahead."""
        before, self._before = self._before, None
        if before is not None:
            self._bring_back(before)

    def advance(self, until: int, *, skip: bool = True) -> Runner | None:
        """Go on to a time, or to when a runner has what it needs: that runner is the result.

        `skip` allows closed forms and jumps.
        """
        if self._before is not None:
            if until >= self._then:
                self.now, self._before = self._then, None
                return next((runner for runner in self._runners if runner.needs == 0), None)
            self.back()
        if skip and self.now < until:
            then, runner = self._first_done(until)
            if self._never_short(then):
                self._pass_unthrottled(then)
                if runner is not None:
                    runner.needs = 0
                return runner
        seen: dict[tuple[object, ...], tuple[int, tuple[int, ...]]] = {}  # states at the ends of periods
        while self.now < until:
            then, runner = self._next(until)
            self._pass(then - self.now)
            if runner is not None:
                runner.needs = 0
                return runner
            expired = self._expire()
            self._throttle()
            self._set_rates()
            if skip and expired is not None and expired is self._longest():
                state = self._state()
                if self._cycle is not None and self._cycle.state == state:
                    self._jump(self._cycle, until)
                elif state in seen:
                    since, before = seen[state]
                    grown = tuple(now - then for now, then in zip(self._counted(), before, strict=True))
                    self._cycle = _Cycle(state, self.now - since, grown)
                    self._jump(self._cycle, until)
                elif len(seen) < _MOST_STATES:
                    seen[state] = (self.now, self._counted())
        return None

    def may_throttle(self, until: int) -> bool:
        """True if a group is throttled, or may be before a time if no rate changes."""
        self.back()
        return not self._never_short(until)

    # -- while nothing is throttled -----------------------------------------------------------------

    def _first_done(self, until: int) -> tuple[int, Runner | None]:
        """When the first runner has what it needs if nothing is throttled before, and which; `until` if none has."""
        then, done = until, None
        if self._needy:
            for runner, rate in self._running:
                if runner.needs is not None:
                    at = self.now + -(-runner.needs // rate)
                    if at <= then and (at < then or done is None):
                        then, done = at, runner
        return then, done

    def _never_short(self, until: int) -> bool:
        return not self._stopped and all(group.never_short(self.now, until) for group in self._limited)

    def _pass_unthrottled(self, until: int) -> None:
        time = until - self.now
        for runner, rate in self._running:
            runner.used += rate * time
            if runner.needs is not None:
                runner.needs = max(0, runner.needs - rate * time)
        for group in self._limited:
            group.pass_unthrottled(self.now, until)
        self.now = until

    # -- one event ----------------------------------------------------------------------------------

    def _next(self, until: int) -> tuple[int, Runner | None]:
        """When something happens next, and the runner that is done then."""
        then, done = self._first_done(until)
        for group in self._limited:
            if group.active and group.boundary < then:
                then, done = group.boundary, None
            if group.rate:
                at = self.now + int(-(-group.runtime // group.rate))
                if at < then:
                    then, done = at, None
        return then, done

    def _pass(self, time: int) -> None:
        self.now += time
        for runner, rate in self._running:
            runner.used += rate * time
            if runner.needs is not None:
                runner.needs = max(0, runner.needs - rate * time)
        for runner in self._stopped:
            runner.stopped += time
        for group in self._limited:
            group.runtime -= group.rate * time
            group.throttled_time += group.queues * time
        for group in self._halted:
            group.halted_time += group.halted * time

    def _expire(self) -> Group | None:
        """Handle the period timers that expire now. Returns the last of them."""
        last = None
        for group in self._limited:
            if group.active and group.boundary == self.now:
                last = group
                group.expire()
        return last

    def _throttle(self) -> None:
        for group in self._limited:
            if group.rate and group.runtime <= 0 and not group.throttled:
                group.throttled = True
                group.runtime = 0  # what a ns had more

    def set_rates(self) -> None:
        """Take who runs now, and at which rate. A group that runs starts its timer (start_cfs_bandwidth)."""
        self._cycle = None
        self._set_rates()

    def _set_rates(self) -> None:
        self._running: list[tuple[Runner, int]] = []
        self._stopped: list[Runner] = []
        self._halted: list[Group] = []
        self._shares: dict[int, int] = {}  # by the ids of runners, where they have more than without throttling
        if len(self._limited) > 1 and any(group.throttled for group in self._limited):
            self._divide(self.root, sum(runner.rate for runner in self._runners))
        self._set_rates_below(self.root, stopped=False)
        self._needy = any(runner.needs is not None and runner.rate for runner in self._runners)

    def _divide(self, group: Group, rate: int) -> None:
        """Divide what the tree gets among those that are not throttled."""
        groups = [below for below in group.groups if not below.throttled]
        parts: list[Group | Runner] = [*group.runners, *groups]
        for part, its in zip(parts, fill_whole(rate, [(part.weight, _asked(part)) for part in parts]), strict=True):
            if isinstance(part, Group):
                self._divide(part, its)
            else:
                self._shares[id(part)] = its

    def _set_rates_below(self, group: Group, *, stopped: bool) -> tuple[int, int]:
        stopped = stopped or group.throttled
        rate, waiting = 0, 0
        for runner in group.runners:
            if runner.rate:
                waiting += runner.queues
                if stopped:
                    self._stopped.append(runner)
                else:
                    its_share = self._shares.get(id(runner), runner.rate)
                    rate += its_share
                    self._running.append((runner, its_share))
        for below in group.groups:
            its_rate, its_waiting = self._set_rates_below(below, stopped=stopped)
            rate += its_rate
            waiting += its_waiting
        group.rate = rate
        group.halted = min(waiting, group.cpus) if stopped else 0
        group.queues = group.halted if group.throttled else 0
        if group.halted:
            self._halted.append(group)
        if rate and group.limited:
            group.start(self.now)
        return rate, waiting

    def _keep(self) -> _Kept:
        groups: list[tuple[object, ...]] = list(map(_state_of, self._groups))
        runners: list[tuple[object, ...]] = [(runner.needs, runner.used, runner.stopped) for runner in self._runners]
        return self.now, groups, runners

    def _bring_back(self, kept: _Kept) -> None:
        self.now = kept[0]
        for group, values in zip(self._groups, kept[1], strict=True):
            for name, value in zip(_STATE, values, strict=True):
                setattr(group, name, value)
        for runner, counts in zip(self._runners, kept[2], strict=True):
            runner.needs, runner.used, runner.stopped = counts  # type: ignore[assignment]
        self._set_rates()

    # -- periods that repeat ----------------------------------------------------------------------------

    def _longest(self) -> Group | None:
        return max((group for group in self._limited if group.active), key=lambda group: group.period, default=None)

    def _state(self) -> tuple[object, ...]:
        """All that decides what happens next, but what runners need."""
        return tuple(
            (
                group.runtime,
                group.snapshot,
                group.throttled,
                group.active,
                group.idle,
                (group.boundary - self.now) % group.period,
                group.rate,
            )
            for group in self._limited
        )

    def _counted(self) -> tuple[int, ...]:
        counts = [count for group in self._groups for count in _counts_of(group)]
        return (*counts, *(count for runner in self._runners for count in (runner.used, runner.stopped)))

    def _jump(self, cycle: _Cycle, until: int) -> None:
        """Repeat what happens in a cycle as often as it fits before `until`, and before a runner is done."""
        times = (until - self.now) // cycle.time
        for runner, used in zip(self._runners, cycle.grown[len(self._groups) * len(_COUNTERS) :: 2], strict=True):
            if runner.needs is not None and used:
                times = min(times, runner.needs // used - 1)
        if times < 1:
            return
        values = iter(zip(self._counted(), cycle.grown, strict=True))
        for group in self._groups:
            for name in _COUNTERS:
                value, growth = next(values)
                setattr(group, name, value + growth * times)
            if group.limited and group.active:
                group.boundary += cycle.time * times
        for runner in self._runners:
            value, growth = next(values)
            runner.used = value + growth * times
            if runner.needs is not None:
                runner.needs -= growth * times
            value, growth = next(values)
            runner.stopped = value + growth * times
        self.now += cycle.time * times


def _asked(part: Group | Runner) -> int:
    """What a runner, or all below a group that are not throttled, can use."""
    if isinstance(part, Runner):
        return max(part.rate, part.most) if part.rate else 0
    if part.throttled:
        return 0
    return sum(map(_asked, part.runners)) + sum(map(_asked, part.groups))
