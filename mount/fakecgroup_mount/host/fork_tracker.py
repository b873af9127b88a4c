"""Follows processes from fork to fork with fork events, to know in which cgroups each new one starts."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places
    from fakecgroup_mount.host.fork_events import ForkEvents


class ForkTracker:
    """The places of processes, from `events`.

    All earlier events are read before a move is noted. So a child that was forked before the move starts in its
    parent's old places.
    """

    def __init__(self, events: ForkEvents) -> None:
        self._events = events
        self._places: dict[int, Places] = {}  # by tgid, of processes outside the roots
        self._thread_places: dict[int, Places | None] = {}  # by tid, of threads elsewhere than their leader
        self._new: dict[int, Places] = {}  # by tgid, of processes that `take` has not given yet
        self._root_children: list[int] = []  # new children of processes in the roots
        self._threads: set[int] = set()  # processes that have new threads
        self._gone: set[int] = set()  # processes that have ended; their forks may not be read yet

    def __bool__(self) -> bool:
        """Whether any process is outside the roots."""
        return bool(self._places)

    @property
    def lost(self) -> bool:
        """Whether the kernel has dropped events, so that what is known may be wrong."""
        return self._events.lost

    def move(self, tgid: int, places: Places | None) -> None:
        """The process has moved to these places; None is the roots."""
        self._drain()
        self._settle(tgid, places)

    def move_thread(self, tid: int, places: Places | None) -> None:
        """The thread has moved away from its leader to these places; None is back to it."""
        self._drain()
        if places is None:
            self._thread_places.pop(tid, None)
        else:
            self._thread_places[tid] = None if all(place.parent is None for place in places) else places

    def take(self) -> list[tuple[int, Places]]:
        """The processes that were forked in a cgroup since the last call, oldest first. Some may be gone."""
        gone, self._gone = self._gone, set()
        self._drain()
        new, self._new = self._new, {}
        for tgid in gone - new.keys():
            self._places.pop(tgid, None)
        return list(new.items())

    def take_root_children(self) -> list[int]:
        """The children of processes in the roots that were forked since the last call. Some may be gone."""
        root_children, self._root_children = self._root_children, []
        return root_children

    def take_threads(self) -> set[int]:
        """The processes that have new threads since the last call."""
        threads, self._threads = self._threads, set()
        return threads

    def put_back(self, tgid: int, places: Places) -> None:
        """Has the next `take` give this process again."""
        self._new.setdefault(tgid, places)

    def ended(self, tgid: int) -> None:
        """The process is gone. Events of its forks may not be read yet."""
        self._gone.add(tgid)

    def reset(self, alive: Collection[int]) -> None:
        """Starts again after lost events. Only what is known of the processes in `alive` is kept."""
        self._places = {tgid: self._places[tgid] for tgid in alive if tgid in self._places}
        self._thread_places.clear()
        self._events.lost = False

    def mark_lost(self) -> None:
        """What `take` gave could not be used. This counts as lost events."""
        self._events.lost = True

    def close(self) -> None:
        self._events.close()

    def _settle(self, tgid: int, places: Places | None) -> None:
        if places is None:
            self._places.pop(tgid, None)
        else:
            self._places[tgid] = places
        self._gone.discard(tgid)

    def _drain(self) -> None:
        place_of, thread_place_of = self._places, self._thread_places
        for parent, parent_tgid, tid, tgid in self._events.take():
            places = thread_place_of[parent] if parent in thread_place_of else place_of.get(parent_tgid)
            thread_place_of.pop(tid, None)
            if tid != tgid:
                self._threads.add(tgid)
                continue
            self._settle(tgid, places)
            self._new.pop(tgid, None)  # its number is in use again
            if places is None:
                self._root_children.append(tgid)
            else:
                self._new[tgid] = places
