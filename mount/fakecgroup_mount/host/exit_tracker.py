"""Joins exits with forks, so that the use of processes that lived between two looks is counted too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakecgroup import End
from fakecgroup_mount.host.usage import resident

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places
    from fakecgroup_mount.host.exit_events import ExitEvent, ExitEvents


class ExitTracker:
    """Keeps exits and forks until the other of the pair arrives, at least until the next look.

    They come through two sockets, so either may be first.
    """

    def __init__(self, ends: ExitEvents) -> None:
        self._ends = ends
        self._gone: dict[int, Places] = {}  # where the processes were forked that are gone
        self._old: dict[int, Places] = {}  # the same, of the look before
        self._kept: list[ExitEvent] = []

    def add_gone(self, tgid: int, places: Places) -> None:
        """A process was forked in these places and was gone when it was looked for."""
        self._gone[tgid] = places

    def take(self) -> list[End]:
        """The exits since the last call, and earlier ones whose forks are known only now."""
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
        self._old, self._gone = self._gone, {}
        return told

    def _places(self, tgid: int) -> Places | None:
        return self._gone.pop(tgid, None) or self._old.pop(tgid, None)

    def close(self) -> None:
        self._ends.close()


def _told(end: ExitEvent, places: Places | None) -> End:
    inherited = resident(end.parent) if end.forked and places is not None else 0
    return End(end.tid, end.tgid, end.run, end.whole, end.peak, inherited, places)
