"""What processes had used when they ended, as the kernel tells of it, also of those that came and went unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakecgroup import End
from fakecgroup_mount.host.usage import resident

if TYPE_CHECKING:
    from fakecgroup.tasks.processes import Places
    from fakecgroup_mount.host.exit_events import ExitEvent, ExitEvents


class ExitTracker:
    """An end and its fork come by two ways: what is heard of the one is kept until the other is heard of, for one look
    at least.
    """

    def __init__(self, ends: ExitEvents) -> None:
        self._ends = ends
        self._passed: dict[int, Places] = {}  # where those were forked that are gone
        self._old: dict[int, Places] = {}  # the same, for the last time
        self._kept: list[ExitEvent] = []

    def passed(self, tgid: int, places: Places) -> None:
        """A process was forked in these places, and nobody saw it."""
        self._passed[tgid] = places

    def take(self) -> list[End]:
        """The ends since the last call, and those before it whose forks were heard of only now."""
        told: list[End] = []
        kept, self._kept = self._kept, []
        for end in kept:
            places = self._places(end.tgid) if end.whole is not None else None
            if places is not None:
                told.append(_told(end, places))
        for end in self._ends.take():
            places = self._places(end.tgid) if end.whole is not None else None
            told.append(_told(end, places))
            if end.whole is not None and places is None:
                self._kept.append(end)
        self._old, self._passed = self._passed, {}
        return told

    def _places(self, tgid: int) -> Places | None:
        return self._passed.pop(tgid, None) or self._old.pop(tgid, None)

    def close(self) -> None:
        self._ends.close()


def _told(end: ExitEvent, places: Places | None) -> End:
    inherited = resident(end.parent) if end.forked and places is not None else 0
    return End(end.tid, end.tgid, end.run, end.whole, end.peak, inherited, places)
