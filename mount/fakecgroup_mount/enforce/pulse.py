"""Whether a process has run since it was looked at: one that has not has the memory that it had."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fakecgroup_mount.enforce.footprint import Resident, resident
from fakecgroup_mount.host.usage import cpu_clock

_RESTING = 0.02  # seconds: the clock of a running process may stand still for one tick, 10 ms at most


@dataclass(slots=True)
class _Known:
    """A process: its CPU clock, since when it stands still, and what it had at the last look."""

    clock: int | None
    since: float
    resident: Resident


class Pulse:
    """The processes that are looked at. To read a CPU clock takes a tenth of the time that a look takes."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def resting(self, tgid: int, now: float) -> Resident | None:
        """What a process has that has not run lately; None for one that may have."""
        known = self._known.get(tgid)
        if known is None or known.since + _RESTING > now or cpu_clock(tgid) != known.clock:
            return None
        return known.resident

    def last(self, tgid: int) -> Resident | None:
        """What the last look at a process has found."""
        known = self._known.get(tgid)
        return None if known is None else known.resident

    def look(self, tgid: int, now: float) -> Resident:
        """`footprint.resident`."""
        known, clock = self._known.get(tgid), cpu_clock(tgid)
        since = known.since if known is not None and known.clock == clock else now
        found = resident(tgid, None if known is None else known.resident)
        self._known[tgid] = _Known(clock, since, found)
        return found

    def keep(self, tgids: Collection[int]) -> None:
        """Forgets all other processes."""
        for tgid in self._known.keys() - tgids:
            del self._known[tgid]
