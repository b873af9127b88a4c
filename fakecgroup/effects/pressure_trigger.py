"""Triggers on pressure: an event when tasks were stalled for a time within a window (kernel/sched/psi.c).

Times and amounts of stall are ns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .pressure_averages import interval
from .timer_wheel import expires

_SECOND = 1_000_000_000

UPDATES_PER_WINDOW = 10


@dataclass(slots=True, eq=False)
class Window:
    """How much a total grows within a `size` of time (struct psi_window)."""

    size: int
    start: int = 0
    value: int = 0  # at the start
    previous: int = 0  # growth in the window before

    def reset(self, now: int, value: int, previous: int = 0) -> None:
        """Begin a window now, at this total."""
        self.start, self.value, self.previous = now, value, previous

    def update(self, now: int, value: int) -> int:
        """The growth within a window until now: the rest of it is taken from the window before (window_update)."""
        elapsed, growth = now - self.start, value - self.value
        if elapsed > self.size:
            self.reset(now, value, growth)
            return growth
        return growth + self.previous * (self.size - elapsed) // self.size


@dataclass(slots=True, eq=False)
class PressureTrigger:
    """One trigger: an event when `state` ("some" or "full") grows by a threshold within a window.

    `privileged` ones are looked at ten times in a window while tasks stall, others when averages are due. `event` is
    set until somebody polls. A kernel that `remembers` tells of a breach that came too soon after an event later.
    """

    state: str
    threshold: int
    window: Window
    privileged: bool = True
    remembers: bool = True
    event: bool = False
    pending: bool = False
    last: int | None = None  # event

    def check(self, now: int, total: int, *, grown: bool) -> bool:
        """Look at the total. True if that makes an event, of which there is one per window (update_triggers)."""
        if grown:
            growth = self.window.update(now, total)
            if not self.pending:
                if growth < self.threshold:
                    return False
                self.pending = True
        elif not self.pending:
            return False
        if self.last is not None and now < self.last + self.window.size:
            self.pending = self.pending and self.remembers
            return False
        self.last, self.pending = now, False
        fires, self.event = not self.event, True
        return fires


@dataclass(slots=True, eq=False)
class Monitor:
    """Looks at the privileged triggers of one resource in one cgroup while tasks stall (psi_rtpoll_work).

    `jiffy` is the kernel's, in ns. `at` is when it looks next, None while nothing stalls.
    """

    jiffy: int
    triggers: list[PressureTrigger] = field(default_factory=list)
    at: int | None = None
    until: int = -1
    next_update: int = 0
    collected: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def period(self) -> int:
        """ns between two looks."""
        return min(trigger.window.size for trigger in self.triggers) // UPDATES_PER_WINDOW

    def begin(self, trigger: PressureTrigger, now: int, version: tuple[int, int]) -> None:
        """Let a new trigger's window begin (psi_trigger_create), at what was collected when others were looked at last.

        Before 6.1 it begins with nothing, so that all that has ever stalled counts.
        """
        if now > self.until:
            return  # all windows begin with the next look
        if version >= (6, 1):
            trigger.window.reset(now, self.collected.get(trigger.state, 0))
        else:
            trigger.window.reset(0, 0)

    def grown(self, totals: Mapping[str, int]) -> bool:
        """True if something stalled that a trigger asks about, since the last look."""
        return any(totals[trigger.state] > self.collected.get(trigger.state, 0) for trigger in self.triggers)

    def look(self, now: int, totals: Mapping[str, int]) -> list[PressureTrigger]:
        """Look at the totals now. Returns the triggers that have an event."""
        fired = []
        changed = self.grown(totals)
        self.collected = dict(totals)
        if changed:
            if now > self.until:
                for trigger in self.triggers:
                    trigger.window.reset(now, totals[trigger.state])
                self.seen = dict(totals)
                self.next_update = now + self.period
            self.until = now + self.period * UPDATES_PER_WINDOW
        if now > self.until:
            self.at = None
            return []
        if now >= self.next_update:
            fired = [
                trigger
                for trigger in self.triggers
                if trigger.check(
                    now, totals[trigger.state], grown=totals[trigger.state] > self.seen.get(trigger.state, 0)
                )
            ]
            self.seen = dict(totals)
            self.next_update = now + self.period
        self.at = expires(now // self.jiffy, (self.next_update - now) // self.jiffy + 1) * self.jiffy
        return fired


@dataclass(slots=True, eq=False)
class SlowMonitor:
    """Looks at the triggers of the unprivileged when averages are due (psi_avgs_work), as late as its timer is."""

    hz: int
    triggers: list[PressureTrigger] = field(default_factory=list)
    at: int | None = None
    seen: dict[str, int] = field(default_factory=dict)

    def wait(self, now: int, due: int | None = None) -> None:
        """Look when averages are `due`; the default is those after the ones that are taken now."""
        jiffy = _SECOND // self.hz
        delay = interval(self.hz) if due is None else due - now
        self.at = expires(now // jiffy, delay // jiffy + 1) * jiffy

    def look(self, now: int, totals: Mapping[str, int]) -> list[PressureTrigger]:
        """Look at the totals now. Returns the triggers that have an event."""
        fired = [
            trigger
            for trigger in self.triggers
            if trigger.check(now, totals[trigger.state], grown=totals[trigger.state] > self.seen.get(trigger.state, 0))
        ]
        self.seen = dict(totals)
        self.wait(now)
        return fired
