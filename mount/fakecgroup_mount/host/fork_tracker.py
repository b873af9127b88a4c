"""Where processes are that were forked in a cgroup, followed from fork to fork as the kernel tells of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakecgroup.tasks.processes import Places
    from fakecgroup_mount.host.fork_events import ForkEvents


class ForkTracker:
    """What is known by `events`. The events up to a move are read before it, so a child that was forked earlier is
    where its parent was then.
    """

    def __init__(self, events: ForkEvents) -> None:
        self._events = events
        self._homes: dict[int, Places] = {}  # by tgid, outside the roots
        self._apart: dict[int, Places | None] = {}  # by tid, where a thread is elsewhere than its leader
        self._born: dict[int, Places] = {}  # those of the homes that nobody was told of
        self._strangers: list[int] = []  # new children of processes in the roots
        self._threads: set[int] = set()  # processes that have new threads
        self._gone: set[int] = set()  # homes of processes that have ended: whose forks are all told by now

    def __bool__(self) -> bool:
        """Whether there is anybody to follow."""
        return bool(self._homes)

    @property
    def lost(self) -> bool:
        """Whether the kernel could not tell of some of those that were taken."""
        return self._events.lost

    def move(self, tgid: int, places: Places | None) -> None:
        """The process is in these places from now on, None being the roots."""
        self._drain()
        self._settle(tgid, places)

    def move_thread(self, tid: int, places: Places | None) -> None:
        """The thread is in other places than its leader from now on; with None it is not."""
        self._drain()
        if places is None:
            self._apart.pop(tid, None)
        else:
            self._apart[tid] = None if all(place.parent is None for place in places) else places

    def take(self) -> list[tuple[int, Places]]:
        """The processes that were forked in a cgroup and not taken yet, the oldest first; some may be gone."""
        gone, self._gone = self._gone, set()
        self._drain()
        born, self._born = self._born, {}
        for tgid in gone - born.keys():
            self._homes.pop(tgid, None)
        return list(born.items())

    def take_strangers(self) -> list[int]:
        """The new children of processes in the roots that were not taken yet; some may be gone."""
        strangers, self._strangers = self._strangers, []
        return strangers

    def take_threads(self) -> set[int]:
        """The processes that have new threads since the last call."""
        threads, self._threads = self._threads, set()
        return threads

    def put_back(self, tgid: int, places: Places) -> None:
        """This one shall be among those that `take` gives next."""
        self._born.setdefault(tgid, places)

    def ended(self, tgid: int) -> None:
        """The process was looked for, and is gone. What it has forked may not be read yet."""
        self._gone.add(tgid)

    def start_anew(self, alive: Collection[int]) -> None:
        """After a loss: of all that was known, this alone is still right."""
        self._homes = {tgid: self._homes[tgid] for tgid in alive if tgid in self._homes}
        self._apart.clear()
        self._events.lost = False

    def lose(self) -> None:
        """What was taken could not be used: all is as after a loss."""
        self._events.lost = True

    def close(self) -> None:
        self._events.close()

    def _settle(self, tgid: int, places: Places | None) -> None:
        if places is None:
            self._homes.pop(tgid, None)
        else:
            self._homes[tgid] = places
        self._gone.discard(tgid)

    def _drain(self) -> None:
        homes, apart = self._homes, self._apart
        for parent, parent_tgid, tid, tgid in self._events.take():
            places = apart[parent] if parent in apart else homes.get(parent_tgid)
            apart.pop(tid, None)
            if tid != tgid:
                self._threads.add(tgid)
                continue
            self._settle(tgid, places)
            self._born.pop(tgid, None)  # its number is in use again
            if places is None:
                self._strangers.append(tgid)
            else:
                self._born[tgid] = places
