"""A group with a quota and all below it: who runs there, and who waits for the next period."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ..effects.bandwidth import CPU, Group
from ..effects.bandwidth_tree import BandwidthTree
from .cpu_demand import Demand
from .cpu_queue import NEVER, Divided, Part, Queue

if TYPE_CHECKING:
    from .cpu_agenda import Agenda

_FAR = 60_000_000_000  # ns that are looked ahead for the end of a phase, at first

_Outlook: TypeAlias = tuple[int, int, "int | None"]


class Inner(Part):
    """A group with a quota here or above. Its parts claim what they can use; a quota on the way limits `capped` alone.

    While the topmost group is calm, `clock` and `had` say what was had since then.
    """

    __slots__ = (
        "_sum",
        "above",
        "capped",
        "claims",
        "group",
        "level",
        "limited",
        "most",
        "parts",
        "taken",
        "total",
        "weights",
    )

    def __init__(self, weight: int, most: int, group: Group, above: Inner | Limited) -> None:
        super().__init__(weight)
        self.most = most  # that its quota allows on the average
        self.group = group
        self.above = above
        self.limited: Limited = above.limited if isinstance(above, Inner) else above
        self.parts: list[Inner | Demand] = []
        self.total = 0  # that the parts claim
        self._sum = 0  # of it with the quotas below,
        self.capped = 0  # and with this
        self.claims = 0  # of the content parts
        self.weights = 0  # of the short ones
        self.level = 0
        self.taken = 0  # what it had by the time at which it was counted last
        if isinstance(above, Inner):
            above.add(self)
            above.group.groups.append(group)

    def add(self, part: Inner | Demand) -> None:
        part.order = len(self.parts)
        self.parts.append(part)
        if isinstance(part, Demand):
            self.group.runners.append(part.runner)

    @property
    def queue_above(self) -> Inner | Queue | None:
        """What it is a part of."""
        return self.above if isinstance(self.above, Inner) else self.above.queue

    def below(self) -> Iterator[Inner]:
        """This group and all below it."""
        yield self
        for part in self.parts:
            if isinstance(part, Inner):
                yield from part.below()

    def reclaim(self, part: Part, claim: int, now: int) -> None:
        """Take what a process claims from now on, and claim it above."""
        more = more_capped = claim - part.claim
        part.set_claim(claim)
        above: Inner | Limited = self
        while isinstance(above, Inner):
            above.total += more
            above.set_claim(above.total)
            above._sum += more_capped
            capped = min(above._sum, above.most)
            more_capped, above.capped = capped - above.capped, capped
            above = above.above
        assert above.queue is not None
        above.queue.reclaim(above, above.claim + more_capped, now)

    def divide(self, rate: int) -> None:
        """Divide a rate among the parts, by weight."""
        active = [part for part in self.parts if part.claim]
        self.claims, self.weights = self.total, 0
        content = len(active)
        if self.total > rate:
            active.sort(key=lambda part: (part.threshold, part.order))
            while content and (not self.weights or active[content - 1].threshold > self.level):
                content -= 1
                self.claims -= active[content].claim
                self.weights += active[content].weight
                self.level = (rate - self.claims) // self.weights
        for number, part in enumerate(active):
            part.short = number >= content
            if isinstance(part, Inner):
                part.divide(self.given(part))

    def given(self, part: Part) -> int:
        """What a part gets."""
        return part.weight * self.level if part.short and part.claim else part.claim

    # -- while the topmost group is calm ------------------------------------------------------------------

    def had(self, part: Part, now: int, since: int) -> int:
        """What a part had between two times."""
        return part.weight * self.clock(now, since) if part.short else part.claim * (now - since)

    def had_by(self, since: int) -> Callable[[int], int]:
        """What it had itself since a time, by the time by which it had that."""
        return lambda now: self.above.had(self, now, since)

    def clock(self, now: int, since: int) -> int:
        """How far the clock of the short parts has come between two times."""
        got = self.above.had(self, now, since)
        return (got - self.claims * (now - since)) // self.weights

    def outlook(self) -> _Outlook | None:
        """The least rate, and the first that is too much, for the same parts to be short and nobody to be throttled.

        Then comes what is had when the first process has what it needs. None if somebody may be throttled, or if that
        depends on more than what is had.
        """
        low, high, time = 0, NEVER, NEVER
        for part in self.parts:
            if not part.claim:
                continue
            if isinstance(part, Inner):
                below = part.outlook()
                if below is None or self.given(part) > part.most:
                    return None
                least, most, needs = below
                if part.short:
                    low = max(low, -(-least // part.weight))
                    high = min(high, -(-most // part.weight), part.most // part.weight + 1)
            else:
                needs = part.runner.needs
            if needs is not None:
                if not part.short or self.claims:
                    return None
                time = min(time, -(-needs // part.weight))
            if part.short:
                high = min(high, part.threshold)
            else:
                low = max(low, part.threshold)
        needed = time * self.weights if time < NEVER else None
        return self.claims + low * self.weights, self.claims + high * self.weights, needed


class Limited(Divided):
    """The topmost group with a quota, and all below it.

    Its `tree` follows what quotas do, event by event. While it is calm it need not: the group is short, and gets so
    little that nobody below uses up a quota, and the clock of its queue says what everybody has had.
    """

    __slots__ = (
        "_agenda",
        "_ended",
        "_far",
        "_limited",
        "_mark",
        "_rate",
        "_since",
        "_unthrottled",
        "calm",
        "demands",
        "stirred",
        "top",
        "tree",
    )

    def __init__(
        self, weight: int, most: int, group: Group, queue: Queue, agenda: Agenda, unthrottled: dict[Limited, None]
    ) -> None:
        super().__init__(weight, queue)
        self._unthrottled = unthrottled  # those that are to `take_unthrottled`
        self.top = Inner(weight, most, group, self)
        self.demands: list[Demand] = []
        self.tree: BandwidthTree
        self.calm = False
        self.stirred = True  # something has changed below
        self._rate = 0
        self._ended = -1  # when everybody's piece of time was ended last
        self._agenda = agenda
        self._far = _FAR  # ns that are looked ahead; the farther, the longer nothing happens
        self._limited: list[Inner] = []
        self._since = 0  # when it became calm,
        self._mark = 0  # and the time of the queue's clock then

    def begin(self, now: int) -> None:
        """Follow the groups and processes that are here now."""
        self._limited = [inner for inner in self.top.below() if inner.group.limited]
        for inner in self._limited:
            inner.group.pass_idle(now)
        self.tree = BandwidthTree(self.top.group, now)

    @property
    def greedy(self) -> bool:
        """True if it would use more than its quota allows on the average."""
        return not self.short and self.top.total > self.claim

    @property
    def most(self) -> int:
        """What it could use with as many CPUs as it may."""
        return sum(min(demand.allowed.bit_count(), demand.process.threads) for demand in self.demands) * CPU

    @property
    def varies(self) -> bool:
        """True if rates here change when others claim more or less."""
        return not self.calm and (self.short or self.top.total > self.claim)

    def settle(self, now: int) -> None:
        """Count what happened here until now."""
        if self.calm:
            self._glide(now)
            return
        while self.tree.now < now:
            self.tree.advance(now)
        self.tree.back()

    def change(self, now: int) -> None:
        """Before something changes here: count what happened until now, and end everybody's piece of time."""
        if self._ended < now:
            self._ended = now
            self.settle(now)
            for demand in self.demands:
                demand.close(now)
        self.stirred = True
        self._far = _FAR

    def flip(self, now: int) -> None:
        self.settle(now)
        self.short = not self.short
        self.stirred = True

    def visit(self, now: int) -> None:
        """Take what the queue gives while it is short. What it gets else is known when all queues have been visited."""
        assert self.queue is not None
        if self.short:
            self._unthrottled.pop(self, None)
            self.take(self.weight * self.queue.level, now)
        else:
            self._unthrottled[self] = None
            self.queue.watch(self, always=False)

    def take(self, rate: int, now: int) -> None:
        """Take a rate while nobody here is throttled."""
        if rate == self._rate and not self.stirred:
            return
        self._rate, self.stirred = rate, False
        self.settle(now)
        self.top.divide(rate)
        outlook = self.top.outlook() if self.short and self._has_enough(now) else None
        if outlook is not None:
            self._be_calm(outlook, now)
        else:
            self._follow(now)

    def take_unthrottled(self, now: int, *, roomy: bool) -> None:
        """Take what it gets while it is content and not throttled: all that it claims if there is room, or no quota."""
        total = self.top.total
        assert self.queue is not None
        self.take(total if roomy or total == self.claim else self.queue.room_for(self, total), now)

    # -- event by event -------------------------------------------------------------------------------

    def _follow(self, now: int) -> None:
        self.calm = False
        for demand in self.demands:
            assert isinstance(demand.queue, Inner)
            rate = demand.queue.given(demand)
            demand.runner.rate, demand.runner.most = rate, demand.claim
            demand.get(rate, now)
        self.tree.set_rates()
        if self.short and self.queue is not None:
            self.bounds = (0, NEVER)
            self.queue.watch(self, always=True)
        self._look_ahead(now)

    def _look_ahead(self, now: int) -> None:
        if any(demand.runner.needs is not None for demand in self.demands):
            self._agenda.expect(self.tree.completion(now + self._far), self)
        else:
            self.alarm += 1  # nothing is expected

    def due(self, now: int) -> Iterator[Demand]:
        self.settle(now)
        done = [demand for demand in self.demands if demand.runner.needs == 0]
        if done:
            self._far = _FAR
            yield from done
        elif not self.calm:
            self._far *= 2
            self._look_ahead(now)

    def may_throttle(self, now: int) -> bool:
        """True if somebody here is throttled, or may be if nothing changes."""
        return not self.calm and self.tree.may_throttle(now + _FAR)

    # -- while it is calm -----------------------------------------------------------------------------

    def _has_enough(self, now: int) -> bool:
        """True if no quota is used up before the next period, if each gets what its quota allows on the average."""
        for inner in self._limited:
            group = inner.group
            left = group.boundary - now if group.active else group.period
            if inner.total and (group.throttled or group.snapshot - group.runtime + inner.most * left > group.quota):
                return False
        return True

    def _be_calm(self, outlook: _Outlook, now: int) -> None:
        low, high, needed = outlook
        queue = self.queue
        assert queue is not None
        self.calm, self._since, self._mark = True, now, queue.clock(now)
        for inner in self._limited:
            inner.taken = 0
            if inner.total:
                inner.group.start(now)
        for demand in self.demands:
            demand.taken = 0
            demand.get(0 if demand.short else demand.claim, now)
        queue.watch(self, always=False)
        self.bound(low, high)
        if needed is None:
            self.alarm += 1  # nothing is expected
        else:
            queue.expect(self._mark - -needed // self.weight, self)

    def had(self, part: Part, now: int, since: int) -> int:
        """What the topmost group had between two times."""
        assert self.queue is not None
        return self.weight * (self.queue.clock_then(now) - self._mark)

    def _glide(self, now: int) -> None:
        tree, since = self.tree, self._since
        if tree.now == now:
            return
        assert self.queue is not None
        self.queue.clock(now)  # which is asked for often below
        for demand in self.demands:
            if demand.claim:
                assert isinstance(demand.queue, Inner)
                had = demand.queue.had(demand, now, since)
                demand.count(had - demand.taken)
                demand.taken = had
        for inner in self._limited:
            if inner.total:
                inner.taken = inner.group.pass_calm(now, inner.taken, inner.had_by(since))
            else:
                inner.group.pass_idle(now)
        tree.now = now
