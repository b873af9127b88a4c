"""The mark that a process passes on to its children: its soft RLIMIT_LOCKS, which Linux has not enforced since 2.4.25.

Each process has one of its own, so a child's says who made it, and since when that one had been where it was. A child
has the mark of its maker until it gets its own. A mark that nobody has any more is known a while longer, as a fork that
was under way may still bring it.
"""

from __future__ import annotations

import resource
import secrets
import time
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places

LOCKS = 10  # RLIMIT_LOCKS, which the module resource lacks
UNLIMITED = resource.RLIM_INFINITY
_COMING = 1.0  # seconds after which no fork brings a mark that its maker has no more

Limit = tuple[int, int]  # soft and hard; resource.RLIM_INFINITY is none


class ForkMark(NamedTuple):
    """What a soft limit of ours stands for: whom it was given to, where that one was, None being the roots, since when
    (ns since boot), and the limit that it has itself, of which the hard one may be lower than what the kernel knows.
    """

    owner: int
    places: Places | None
    since: int
    limit: Limit


class ForkMarks:
    """Who has which mark, as far as we gave it; a program that sets the limit itself passes on that one."""

    def __init__(self) -> None:
        self._marks: dict[int, ForkMark] = {}
        self._next = count(secrets.randbits(61) + 1)  # so that two daemons do not take each other's
        self.now: dict[int, int] = {}  # tgid -> the mark that it has; also of those that have still their maker's
        self._carried: dict[int, set[int]] = {}  # tgid -> those that its children may have
        self._holders: dict[int, int] = {}  # mark -> how many processes have it
        self._left: dict[int, tuple[float, int]] = {}  # marks that nobody has, since when, and who had it last

    def __bool__(self) -> bool:
        return bool(self._marks)

    def known(self, value: int) -> ForkMark | None:
        return self._marks.get(value)

    def read(self, tid: int) -> ForkMark | None:
        """The mark of a thread's process, if it is one of ours. Raises OSError."""
        return self._marks.get(resource.prlimit(tid, LOCKS)[0])

    def passes_on(self, tgid: int, value: int) -> bool:
        """Whether children of a process may have this mark."""
        return value in self._carried.get(tgid, ())

    def give(self, tgid: int, places: Places | None) -> None:
        """The process is in these places from now on: it gets a mark that nobody has, or with None its own limit back.

        One that may not have a mark goes without.
        """
        try:
            soft, hard = resource.prlimit(tgid, LOCKS)
            known = self._marks.get(soft)
            if known is not None or places is not None:
                self.put(tgid, places, (soft, hard) if known is None else known.limit, hard)
        except (ProcessLookupError, PermissionError, ValueError):  # the last: the limit has just been lowered
            return

    def put(self, tgid: int, places: Places | None, limit: Limit, hard: int) -> None:
        """As `give`, to a process with this limit of its own, of which the kernel knows `hard`.

        Raises OSError, ValueError.
        """
        if places is None and limit[1] == hard:
            resource.prlimit(tgid, LOCKS, (at_most(limit[0], hard), hard))
            self._take(tgid)
            return
        value = next(self._next)
        if at_most(value, hard) == value:
            since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            resource.prlimit(tgid, LOCKS, (value, hard))
            self._marks[value] = ForkMark(tgid, places, since, limit)
            self._has(tgid, value)

    def inherit(self, tgid: int, value: int) -> None:
        """A process was forked with this mark of its maker."""
        self._has(tgid, value)

    def forget(self, tgid: int) -> None:
        """The process is gone, or nobody wants to know of it."""
        self._take(tgid)
        self._carried.pop(tgid, None)

    def forget_old(self) -> bool:
        """Drops marks that can come no more; False where there are none."""
        end = time.monotonic() - _COMING
        old = [(value, tgid) for value, (since, tgid) in self._left.items() if since < end]
        for value, tgid in old:
            del self._left[value], self._marks[value]
            carried = self._carried.get(tgid)
            if carried is not None:
                carried.discard(value)
                if not carried:
                    del self._carried[tgid]
        return bool(old)

    def places(self) -> set[Places]:
        """All that a mark stands for."""
        return {mark.places for mark in self._marks.values() if mark.places is not None}

    def _has(self, tgid: int, value: int) -> None:
        self._take(tgid)
        self.now[tgid] = value
        self._carried.setdefault(tgid, set()).add(value)
        self._holders[value] = self._holders.get(value, 0) + 1
        self._left.pop(value, None)

    def _take(self, tgid: int) -> None:
        value = self.now.pop(tgid, None)
        if value is None:
            return
        self._holders[value] -= 1
        if not self._holders[value]:
            del self._holders[value]
            self._left[value] = time.monotonic(), tgid


def at_most(limit: int, hard: int) -> int:
    """A soft limit, or the hard one where that is lower."""
    if hard == UNLIMITED or 0 <= limit <= hard:
        return limit
    return hard
