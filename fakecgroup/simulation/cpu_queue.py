"""Queues of a hierarchy: who gets how much of too few CPUs, and has had how much, without a look at each every time.

A queue divides what it gets by weight. A part is content if it gets all that it claims, else short. All short parts get
the same per weight, the queue's level. The clock of a queue is the integral of its level, as a kernel's virtual time:
what a short part has had is its weight times what the clock has advanced. So nobody visits a part when the level
changes, as long as the same parts are short.

Rates and claims are in parts of a CPU (`effects.bandwidth.CPU`), levels in these per weight, times in ns. All are whole
numbers.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .cpu_agenda import Agenda
    from .cpu_demand import Demand

NEVER = 1 << 200  # a level that is not reached
_LONGEST_PERIOD = 1_000_000_000  # ns: max_cfs_quota_period (kernel/sched/core.c)
_MOST_STALE = 64  # entries that are kept without need, beside as many as there are parts


class Part:
    """A task or a group in a group's queue, and what it `claim`s.

    It is content if the level of its queue is its `threshold` at least, else `short`. What is expected of it is in
    force if it bears the number `alarm`.
    """

    __slots__ = ("alarm", "claim", "order", "short", "threshold", "weight")

    def __init__(self, weight: int) -> None:
        self.weight = weight
        self.order = 0  # among the parts of its queue
        self.claim = 0
        self.threshold = 0
        self.short = False
        self.alarm = 0

    def set_claim(self, claim: int) -> None:
        self.claim = claim
        self.threshold = -(-claim // self.weight)

    def flip(self, now: int) -> None:
        """Be short from now on if it was content, and content if it was short."""
        raise NotImplementedError

    def visit(self, now: int) -> None:
        """Take what its queue gives from now on."""
        raise NotImplementedError

    def due(self, now: int) -> Iterator[Demand]:
        """The processes, here and below, that have what they need now."""
        raise NotImplementedError


class Divided(Part):
    """A part that is divided itself. Between two levels of its queue, `bounds`, the same parts are short below."""

    __slots__ = ("bounds", "queue")

    def __init__(self, weight: int, queue: Queue | None) -> None:
        super().__init__(weight)
        self.queue = queue
        self.bounds = (0, NEVER)
        if queue is not None:
            queue.add(self)

    def bound(self, low: int, high: int) -> None:
        """Set the bounds by the least rate and the first that is too much."""
        assert self.queue is not None
        self.bounds = (-(-low // self.weight), -(-high // self.weight))
        self.queue.narrow(*self.bounds)


_Entry: TypeAlias = tuple[int, int, Part]  # threshold, order, part


class Queue(Divided):
    """A group without a quota here or above; or the root, which has no queue above it and gets all CPUs, its claim."""

    __slots__ = (
        "_agenda",
        "_alarms",
        "_at",
        "_base",
        "_claims",
        "_content",
        "_divided",
        "_eager",
        "_high",
        "_level",
        "_low",
        "_mark",
        "_past",
        "_seen",
        "_shorts",
        "_sorted",
        "_weights",
        "parts",
        "pending",
        "total",
    )

    def __init__(self, weight: int, queue: Queue | None, agenda: Agenda) -> None:
        super().__init__(weight, queue)
        self._agenda = agenda
        self.parts: list[Part] = []
        self._divided: list[Divided] = []
        self.total = 0  # that the parts claim
        self._claims = 0  # of the content ones
        self._weights = 0  # of the short ones
        self._sorted = False  # the lists are in use; else all parts are content
        self._content: list[_Entry] = []  # that claim something
        self._shorts: list[_Entry] = []
        self._level = 0  # at the last visit, while somebody is short
        self._at = 0  # since when the clock has gone as it does now,
        self._base = 0  # its time then,
        self._mark = 0  # and the time of the clock above
        self._past: list[tuple[int, int, int, int, int]] = []  # `_at` and what went with it, before
        self._seen = (-1, 0)  # the clock at the last look at it
        self._low, self._high = 0, NEVER  # levels between which all short parts are within their bounds
        self._alarms: list[tuple[int, int, int, Part]] = []  # time of the clock, order, alarm, part
        self.pending: dict[Part, None] = {}  # parts for which something has changed
        self._eager: dict[Part, None] = {}  # parts for which something changes whenever the level does

    def add(self, part: Part) -> None:
        """Take a part, which claims nothing yet."""
        part.order = len(self.parts)
        self.parts.append(part)
        if isinstance(part, Divided):
            self._divided.append(part)

    @property
    def queue_above(self) -> Queue | None:
        """What it is a part of; None for the root."""
        return self.queue

    @property
    def crowded(self) -> bool:
        """True if somebody is short."""
        return self._weights > 0

    @property
    def level(self) -> int:
        """What a short part gets per weight; as of now while parts are visited."""
        return self._level

    def level_now(self) -> int:
        """What a short part gets per weight now."""
        return (self.rate_now() - self._claims) // self._weights

    def rate_now(self) -> int:
        """What the queue gets now."""
        return self.weight * self.queue.level_now() if self.short and self.queue is not None else self.claim

    # -- the clock ------------------------------------------------------------------------------------

    def clock(self, now: int) -> int:
        """The time of the queue's clock now. It stands still while nobody is short."""
        if not self._weights:
            return self._base
        if self._seen[0] == now:
            return self._seen[1]
        above = self.queue
        got = self.claim * (now - self._at) if above is None else self.weight * (above.clock(now) - self._mark)
        time = self._base + (got - self._claims * (now - self._at)) // self._weights
        self._seen = (now, time)
        return time

    def clock_then(self, then: int) -> int:
        """The time of the clock at a past time, which is not longer ago than the longest period of a quota."""
        if then == self._seen[0]:
            return self._seen[1]
        if then >= self._at:
            at, base, mark, claims, weights = self._at, self._base, self._mark, self._claims, self._weights
        else:
            at, base, mark, claims, weights = self._past[bisect_right(self._past, (then, NEVER)) - 1]
        if not weights:
            return base
        above = self.queue
        got = self.claim * (then - at) if above is None else self.weight * (above.clock_then(then) - mark)
        return base + (got - claims * (then - at)) // weights

    def _touch(self, now: int) -> None:
        """Take the time of the clock, which is about to go faster or slower."""
        if self._at == now:
            return
        time = self.clock(now)
        past = self._past
        past.append((self._at, self._base, self._mark, self._claims, self._weights))
        if len(past) > _MOST_STALE and past[len(past) // 2][0] < now - _LONGEST_PERIOD:
            del past[: len(past) // 2]
        self._at, self._base = now, time
        if self.queue is not None:
            self._mark = self.queue.clock(now)

    # -- claims ---------------------------------------------------------------------------------------

    def reclaim(self, part: Part, claim: int, now: int) -> None:
        """Take what a part claims from now on, and claim it above. Who is short stays as it was until `update`."""
        more, short = claim - part.claim, part.short
        if self._sorted:
            self._touch(now)
            entries = self._shorts if short else self._content
            if part.claim:
                del entries[bisect_left(entries, (part.threshold, part.order))]
            part.set_claim(claim)
            if claim:
                insort(entries, (part.threshold, part.order, part))
            elif short:
                self._weights -= part.weight
                part.flip(now)
        else:
            part.set_claim(claim)
        if not short:
            self._claims += more
        self.total += more
        if self.queue is not None and more:
            self.queue.reclaim(self, self.total, now)

    def _sort(self) -> None:
        if not self._sorted:
            self._sorted = True
            self._content = sorted((part.threshold, part.order, part) for part in self.parts if part.claim)

    def room_for(self, part: Part, claim: int) -> int:
        """What a content part would get if it claimed so much, which is more than it does, and all others the same."""
        rate, total = self.rate_now(), self.total + claim - part.claim
        if total > rate and self.queue is not None and not self.short:
            rate = self.queue.room_for(self, total)
        if total <= rate:
            return claim
        self._sort()
        claims, weights = self._claims - part.claim, self._weights + part.weight
        level = (rate - claims) // weights
        for threshold, _, other in reversed(self._content):
            if other is part:
                continue
            if threshold <= level:
                break
            claims -= other.claim
            weights += other.weight
            level = (rate - claims) // weights
        return min(claim, part.weight * level)

    # -- what is given --------------------------------------------------------------------------------

    def flip(self, now: int) -> None:
        self._touch(now)
        self.short = not self.short

    def visit(self, now: int) -> None:
        above = self.queue
        self.update(self.weight * above.level if self.short and above is not None else self.claim, now)

    def update(self, rate: int, now: int) -> None:
        """Take what the queue gets from now on, and what its parts claim. Visit those for which something changes."""
        visits, self.pending = self.pending, {}
        if not self._holds(rate):
            visits.update(dict.fromkeys(self._solve(rate, now)))
        moved = outside = False
        if self._weights:
            level = (rate - self._claims) // self._weights
            moved, self._level = level != self._level, level
            if moved:
                visits.update(self._eager)
            outside = not self._low <= level < self._high
            if outside:
                for divided in self._divided:
                    if divided.short and not divided.bounds[0] <= level < divided.bounds[1]:
                        visits[divided] = None
        for part in visits:
            part.visit(now)
        if outside:
            self._low, self._high = 0, NEVER
            for divided in self._divided:
                if divided.short:
                    self.narrow(*divided.bounds)
        if visits:
            self._tell(now)
        elif moved and self._claims:
            self._forecast(now)

    def _holds(self, rate: int) -> bool:
        """True if the same parts are short at a rate."""
        if self.total <= rate or not self._weights:
            return self.total <= rate and not self._weights
        level = (rate - self._claims) // self._weights
        return level < self._shorts[0][0] and not (self._content and level < self._content[-1][0])

    def _solve(self, rate: int, now: int) -> list[Part]:
        """Find who is short at a rate. Returns the parts that are content now and were short, or the other way."""
        self._sort()
        self._touch(now)
        content, shorts, flipped = self._content, self._shorts, []
        while True:
            level = (rate - self._claims) // self._weights if shorts else -1
            if self.total <= rate:
                level = NEVER
            if content and content[-1][0] > level:
                entry = content.pop()
                insort(shorts, entry)
                sign = 1
            elif shorts and shorts[0][0] <= level:
                entry = shorts.pop(0)
                insort(content, entry)
                sign = -1
            else:
                break
            part = entry[2]
            part.flip(now)
            self._claims -= sign * part.claim
            self._weights += sign * part.weight
            flipped.append(part)
        self._sorted = bool(shorts)
        return flipped

    def narrow(self, low: int, high: int) -> None:
        """Take the bounds of a part that is short."""
        self._low, self._high = max(self._low, low), min(self._high, high)

    def watch(self, part: Part, *, always: bool) -> None:
        """Visit a part whenever the level changes, or no more."""
        if always:
            self._eager[part] = None
        else:
            self._eager.pop(part, None)

    # -- what will happen -----------------------------------------------------------------------------

    def expect(self, time: int, part: Part) -> None:
        """Expect of a short part that it has what is needed there at a time of the clock."""
        part.alarm += 1
        alarms = self._alarms
        heapq.heappush(alarms, (time, part.order, part.alarm, part))
        if len(alarms) > 2 * len(self.parts) + _MOST_STALE:
            self._alarms = [entry for entry in alarms if entry[2] == entry[3].alarm]
            heapq.heapify(self._alarms)

    def _soonest(self) -> int | None:
        """The time of the clock at which something is expected."""
        alarms = self._alarms
        while alarms and alarms[0][2] != alarms[0][3].alarm:
            heapq.heappop(alarms)
        return alarms[0][0] if alarms else None

    def _tell(self, now: int) -> None:
        """Tell the queue above of what has changed here."""
        soonest = self._soonest()
        above = self.queue
        if above is None or not self.short:
            if above is not None:
                above.watch(self, always=False)
            self._forecast(now)
            return
        low = max(self._content[-1][0], self._low) if self._content else self._low
        high = min(self._shorts[0][0], self._high)
        self.bound(self._claims + low * self._weights, self._claims + high * self._weights)
        mixed = soonest is not None and self._claims > 0
        above.watch(self, always=mixed or bool(self._eager))
        if soonest is None or mixed:
            self._forecast(now)
        else:
            above.expect(self._mark - (self._base - soonest) * self._weights // self.weight, self)

    def _forecast(self, now: int) -> None:
        """Say when something will happen here if no rate changes."""
        soonest, gain = self._soonest(), self.rate_now() - self._claims
        if soonest is None or not self._weights or gain <= 0:
            self.alarm += 1  # nothing is expected
        else:
            self._agenda.expect(now - (self.clock(now) - soonest) * self._weights // gain, self)

    def due(self, now: int) -> Iterator[Demand]:
        clock, early = self.clock(now), True
        while (soonest := self._soonest()) is not None and soonest <= clock:
            early = False
            yield from heapq.heappop(self._alarms)[3].due(now)
        if early:
            self._forecast(now)
