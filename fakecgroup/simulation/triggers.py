"""Triggers on open pressure files, as time passes (kernel/sched/psi.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..base_files.pressure import totals
from ..effects.pressure_trigger import Monitor, PressureTrigger, SlowMonitor
from ..effects.timer_wheel import expires

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..core.file_context import FileContext
    from ..core.hierarchy import Hierarchy

_HZ = 250
JIFFY = 1_000_000_000 // _HZ
"""ns of a kernel's tick: triggers are looked at then."""


class Stalling(Protocol):
    """Whose tasks stall: simulated ones (`World`), or real ones."""

    @property
    def now(self) -> int:
        """ns of the clock."""

    @property
    def hierarchies(self) -> list[Hierarchy]:
        """Those of the kernel."""

    def is_active(self, cgroup: Cgroup) -> bool:
        """True if a process in a cgroup of the unified hierarchy or below runs, or waits for something."""

    def may_stall(self, cgroup: Cgroup, resource: str) -> bool:
        """True if one stalls for a resource, or soon may, and nobody asks for `advance` when it does."""


class Triggers:
    """Tells pollers of open pressure files when a trigger has an event."""

    def __init__(self, stalling: Stalling) -> None:
        self._stalling = stalling
        self._monitors: dict[tuple[Cgroup, str, bool], Monitor | SlowMonitor] = {}  # by cgroup, resource, privilege
        self._files: dict[PressureTrigger, FileContext] = {}
        self._version = stalling.hierarchies[-1].personality.version

    def gather(self) -> None:
        """Take the files that are open now."""
        known = self._stalling.hierarchies[-1].membership.triggers
        if not known and not self._monitors:
            return
        heard, self._files = self._files, {}
        old, self._monitors = self._monitors, {}
        for reference in list(known):
            opened = reference()
            if opened is None or opened.trigger is None or not opened.file.alive:
                known.remove(reference)
                continue
            trigger, cgroup = opened.trigger, opened.file.cgroup
            self._files[trigger] = opened
            key = (cgroup, opened.file.row.name.partition(".")[0], trigger.privileged)
            if key not in self._monitors:
                self._monitors[key] = old.get(key) or self._monitor(*key)
                self._monitors[key].triggers = []
            monitor = self._monitors[key]
            if isinstance(monitor, Monitor) and trigger not in heard:
                monitor.begin(trigger, self._stalling.now, self._version)
            monitor.triggers.append(trigger)

    def _monitor(self, cgroup: Cgroup, resource: str, privileged: bool) -> Monitor | SlowMonitor:
        """A new one, which begins with what has stalled so far."""
        now, before = self._stalling.now, totals(cgroup, resource)
        if privileged:
            return Monitor(JIFFY, collected=before)
        monitor = SlowMonitor(_HZ)
        stalls = cgroup.stalls.get(resource)
        if stalls is not None and stalls.some_averages.due > now:
            monitor.wait(now, stalls.some_averages.due)
        monitor.seen = before
        return monitor

    def next(self, until: int) -> int:
        """When a trigger is looked at next; `until` if none is before."""
        for (cgroup, resource, _), monitor in self._monitors.items():
            at = monitor.at
            if at is None and isinstance(monitor, SlowMonitor):
                if self._stalling.is_active(cgroup):  # the averages' worker sleeps until then
                    monitor.wait(self._stalling.now)
                    at = monitor.at
            elif at is None and self._stalling.may_stall(cgroup, resource):
                at = expires(self._stalling.now // JIFFY, 1) * JIFFY
            if at is not None and at < until:
                until = at
        return until

    def advance(self, now: int) -> None:
        """Look at the triggers whose time has come: at a tick also at those of who has not stalled lately."""
        if not self._monitors:
            return
        due = [
            (key, monitor)
            for key, monitor in self._monitors.items()
            if (now % JIFFY == 0 and isinstance(monitor, Monitor) if monitor.at is None else monitor.at <= now)
        ]
        if not due:
            return
        for (cgroup, resource, _), monitor in due:
            for trigger in monitor.look(now, totals(cgroup, resource)):
                opened = self._files[trigger]
                opened.file.cgroup.hierarchy.notify(opened.file)
