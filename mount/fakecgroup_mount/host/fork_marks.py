"""Marks that children inherit: a value of ours as the soft RLIMIT_LOCKS, which Linux does not enforce since 2.4.25.

Each process in a cgroup gets a mark of its own, at each move a new one. So the mark of a new child identifies its
parent and the parent's places at the fork. The child keeps that mark until it gets its own. A mark that no process has
any more stays known for a second, as a fork under way may still bring a child with it.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from itertools import count
from typing import TYPE_CHECKING

from fakecgroup.named_tuple import NamedTuple

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places

LOCKS = 10  # RLIMIT_LOCKS, which Python's resource lacks
UNLIMITED = resource.RLIM_INFINITY
_COMING = 1.0  # seconds for a fork under way to bring a child with its parent's old mark

Limit = tuple[int, int]  # soft and hard; resource.RLIM_INFINITY is none


class ForkMark(NamedTuple):
    """The meaning of a soft limit of ours: the process that got it, its places (None: the roots) and since when (ns
    since boot).

    `limit` is the RLIMIT_LOCKS that the process has set itself. Its hard limit may be lower than the kernel's.
    """

    owner: int
    places: Places | None
    since: int
    limit: Limit


class ForkMarks:
    """The marks that we have given. A program that sets the limit itself loses its mark."""

    def __init__(self) -> None:
        self._marks: dict[int, ForkMark] = {}
        self._next = count(int.from_bytes(os.urandom(7), sys.byteorder) + 1)  # two daemons hardly ever use the same
        self.now: dict[int, int] = {}  # tgid -> its mark, which may still be its parent's
        self._carried: dict[int, set[int]] = {}  # tgid -> the marks that its children may have
        self._holders: dict[int, int] = {}  # mark -> how many processes have it
        self._left: dict[int, tuple[float, int]] = {}  # marks without a process: since when, and who had it last

    def __bool__(self) -> bool:
        return bool(self._marks)

    def known(self, value: int) -> ForkMark | None:
        return self._marks.get(value)

    def read(self, tid: int) -> ForkMark | None:
        """The mark of a thread's process; None if it has none of ours. Raises OSError."""
        return self._marks.get(resource.prlimit(tid, LOCKS)[0])

    def passes_on(self, tgid: int, value: int) -> bool:
        """Whether children of a process may have this mark."""
        return value in self._carried.get(tgid, ())

    def give(self, tgid: int, places: Places | None) -> None:
        """Gives the process a new mark for these places, or with None its own limit back.

        A process whose limits we may not set, or with a low hard limit, gets none.
        """
        try:
            soft, hard = resource.prlimit(tgid, LOCKS)
            known = self._marks.get(soft)
            if known is not None or places is not None:
                self.put(tgid, places, (soft, hard) if known is None else known.limit, hard)
        except (ProcessLookupError, PermissionError, ValueError):  # ValueError: the hard limit has just been lowered
            return

    def put(self, tgid: int, places: Places | None, limit: Limit, hard: int) -> None:
        """As `give`, to a process that has set itself `limit`. `hard` is the kernel's hard limit.

        Raises OSError, and ValueError if the hard limit was lowered meanwhile.
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
        """A process was forked with this mark of its parent."""
        self._has(tgid, value)

    def forget(self, tgid: int) -> None:
        """The process is gone or no longer followed."""
        self._take(tgid)
        self._carried.pop(tgid, None)

    def forget_old(self) -> bool:
        """Drops marks that no fork can bring any more. Returns whether there were any."""
        end = time.monotonic() - _COMING
        old = []
        for value, (since, tgid) in self._left.items():  # the oldest first
            if since >= end:
                break
            old.append((value, tgid))
        for value, tgid in old:
            del self._left[value], self._marks[value]
            carried = self._carried.get(tgid)
            if carried is not None:
                carried.discard(value)
                if not carried:
                    del self._carried[tgid]
        return bool(old)

    def places(self) -> set[Places]:
        """The places of all known marks."""
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
    """The lower of a soft and a hard limit; RLIM_INFINITY is the highest."""
    if hard == UNLIMITED or 0 <= limit <= hard:
        return limit
    return hard
