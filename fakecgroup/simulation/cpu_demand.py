"""A process as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..controllers.cpu.weight import shares_from_nice
from ..effects.bandwidth import CPU, Runner
from .cpu_queue import Part, Queue

if TYPE_CHECKING:
    from .cpu_agenda import Agenda
    from .cpu_limited import Inner, Limited
    from .process import Process

_LONG = 100_000_000  # ns: the load average of who begins to run has come to nine tenths (kernel/sched/pelt.c)


class Demand(Part):
    """A process that would use what it `asked`, in parts of a CPU, and may use the CPUs in the mask `allowed`.

    `runner` counts what it has used until it was settled last. `since` is when its piece of time began, in which it
    wants the same and is `starved`, or not: it gets less than it wants. `used`, `stopped` and `waits` are of then.
    `close` is told of each piece that ends.
    """

    __slots__ = (
        "_agenda",
        "_at",
        "_close",
        "_mark",
        "_most",
        "allowed",
        "asked",
        "limited",
        "process",
        "queue",
        "runner",
        "since",
        "starved",
        "stopped",
        "taken",
        "used",
        "waits",
    )

    process: Process
    weight: int
    runner: Runner
    asked: int
    starved: bool
    since: int
    used: int
    stopped: int
    waits: dict[str, float]
    limited: Limited | None  # the topmost group with a quota above
    _at: int  # up to when the runner has counted

    def __init__(self, process: Process, now: int) -> None:
        super().__init__(shares_from_nice(process.workload.nice) * process.threads)
        self.process = process
        self.runner = Runner(queues=process.threads, weight=self.weight)
        self.asked = 0
        self.starved = False
        self.since = now
        self.used = 0
        self.stopped = 0
        self.waits = {}
        self.limited = None
        self._at = now

    @property
    def wanted(self) -> int:
        """What it can use of what it asked."""
        return min(self.asked, self.allowed.bit_count() * CPU)

    @property
    def bound(self) -> bool:
        """True if it would use more if it had more CPUs: all its threads are busy, or all CPUs that it may use.

        They are busy for so long that the kernel takes all their weight for their load.
        """
        phase = self.process.phase
        return self.asked >= self._most and phase is not None and (phase.run or phase.time or 0) >= _LONG

    @property
    def outer(self) -> Demand | Limited:
        """The part of an outer queue that this is, or is in."""
        return self.limited if self.limited is not None else self

    @property
    def outer_queue(self) -> Queue | None:
        """The queue of `outer`."""
        if self.limited is not None:
            return self.limited.queue
        assert isinstance(self.queue, Queue)
        return self.queue

    def place(
        self,
        queue: Queue | Inner,
        allowed: int,
        now: int,
        agenda: Agenda,
        close: Callable[[Demand, int], None],
    ) -> None:
        """Be in a queue from now on, where it claims nothing yet."""
        self.queue = queue
        self.limited = queue.limited if not isinstance(queue, Queue) else None
        self.allowed = allowed
        self._most = min(self.process.threads, allowed.bit_count()) * CPU
        self.short = False
        self.alarm = 0
        self.set_claim(0)
        self._agenda = agenda
        self._close = close
        self._at = now
        self._mark = 0  # the time of the queue's clock then
        self.taken = 0  # what it was counted since its group is calm
        queue.add(self)

    def settle(self, now: int) -> None:
        """Count what it has used until now."""
        if self.limited is not None:
            self.limited.settle(now)
            self._at = now
        elif self._at < now:
            queue = self.queue
            if self.short:
                assert isinstance(queue, Queue)
                mark = queue.clock(now)
                self.count(self.weight * (mark - self._mark))
                self._mark = mark
            elif self.claim:
                self.count(self.claim * (now - self._at))
            self._at = now

    def count(self, used: int) -> None:
        """Count CPU time that it had."""
        runner = self.runner
        runner.used += used
        if runner.needs is not None:
            runner.needs = max(0, runner.needs - used)

    def close(self, now: int) -> None:
        """End its piece of time, and begin another. It is settled."""
        if self.since < now:
            self._close(self, now)
            self.since, self.used, self.stopped = now, self.runner.used, self.runner.stopped

    def get(self, rate: int, now: int) -> None:
        """Get a rate from now on; or, if it gets less than it claims, anything less."""
        starved = rate < self.asked
        if starved != self.starved:
            self.settle(now)
            self.close(now)
            self.starved = starved

    def flip(self, now: int) -> None:
        self.settle(now)
        self.short = not self.short
        if self.short:
            assert isinstance(self.queue, Queue)
            self._mark = self.queue.clock(now)

    def visit(self, now: int) -> None:
        self.get(0 if self.short else self.claim, now)
        needs = self.runner.needs
        if needs is None or not self.claim:
            self.alarm += 1  # nothing is expected
        elif self.short:
            assert isinstance(self.queue, Queue)
            self.queue.expect(self._mark - -needs // self.weight, self)
        else:
            self._agenda.expect(now - -needs // self.claim, self)

    def due(self, now: int) -> Iterator[Demand]:
        self.settle(now)
        if self.runner.needs == 0:
            yield self
