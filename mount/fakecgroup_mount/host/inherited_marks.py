"""Which new processes were forked in a cgroup, judged by the marks that they were born with.

Anyone may see another's mark and give it to himself (proc_pid_limits, prlimit(2)). So a mark counts only with a process
that has not been seen before, and whose parent passes that mark on. One whose maker has ended has another parent by
then; it counts if it started since the mark was given, by somebody whose processes were in that cgroup.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from fakecgroup_mount.host.fork_marks import LOCKS, ForkMark, ForkMarks
from fakecgroup_mount.host.usage import stat_of

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places

_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # ns
_PARENT, _START = 1, 19  # in what `stat_of` gives: the 3rd, 4th and 22nd field of proc_pid_stat(5)


class ForkedProcess(NamedTuple):
    """A process that was forked in these places; those of the roots are of interest for their limit alone."""

    tgid: int
    places: Places | None


class _Born(NamedTuple):
    """A new process as it was found: its mark, its parent, when it started (ticks since boot), its real uid."""

    mark: int
    parent: int
    start: int
    uid: int


class InheritedMarks:
    """Judges; `marks` says who has which. A process for which `inside` says so can neither set nor see marks: it has
    the one of its maker.
    """

    def __init__(self, marks: ForkMarks, inside: Callable[[int], bool] = lambda tgid: False) -> None:
        self._marks = marks
        self._inside = inside
        self._uids: dict[Places, set[int]] = {}  # whose processes were there

    def note(self, tgid: int, places: Places) -> None:
        """A process is in these places."""
        uid = _uid(tgid)
        if uid is not None:
            self._uids.setdefault(places, set()).add(uid)

    def judge(self, found: Iterable[tuple[int, int]], *, siblings: bool = False) -> list[ForkedProcess]:
        """Those of the new processes, each with the mark that it was born with, that were forked in a cgroup.

        The oldest come first, and those of one tick as they are given. They pass on what they were born with, until
        they are given a mark of their own. Where nobody's parent has changed since, those whose mark is not their
        parent's can only be `siblings` of their maker (clone(2), CLONE_PARENT).
        """
        born = {tgid: _born(tgid, mark) for tgid, mark in found}
        order = sorted((one.start, number, tgid) for number, (tgid, one) in enumerate(born.items()) if one is not None)
        judged: dict[int, ForkedProcess | None] = {}
        for _, _, tgid in order:
            self._judge(tgid, born, judged, siblings)
        return [newcomer for newcomer in judged.values() if newcomer is not None]

    def forget_all_but(self, places: set[Places]) -> None:
        for gone in self._uids.keys() - places:
            del self._uids[gone]

    def _judge(
        self, first: int, born: dict[int, _Born | None], judged: dict[int, ForkedProcess | None], siblings: bool
    ) -> None:
        line = []  # from the child to the parents that are as new
        tgid = first
        while tgid not in judged and tgid not in line and (one := born.get(tgid)) is not None:
            line.append(tgid)
            tgid = one.parent
        for tgid in reversed(line):
            one = born[tgid]
            assert one is not None
            judged[tgid] = self._admit(tgid, one, siblings)

    def _admit(self, tgid: int, one: _Born, siblings: bool) -> ForkedProcess | None:
        mark = self._marks.known(one.mark)
        if mark is None:
            return None
        known = self._marks.passes_on(one.parent, one.mark) or self._inside(tgid)
        if not known and not self._may_be_left(one, mark, siblings):
            return None
        self._marks.inherit(tgid, one.mark)
        if mark.places is not None:
            self._uids.setdefault(mark.places, set()).add(one.uid)
        return ForkedProcess(tgid, mark.places)

    def _may_be_left(self, one: _Born, mark: ForkMark, siblings: bool) -> bool:
        """Whether its maker may have ended, or made it a sibling: nobody of those in the cgroup is told from them."""
        if mark.places is None or (one.start + 1) * _TICK < mark.since:
            return False
        owner = stat_of(mark.owner)
        if siblings and owner and int(owner[_PARENT]) != one.parent:
            return False
        if one.uid not in self._uids.get(mark.places, ()) and one.uid != _uid(mark.owner):
            return False
        try:  # whoever has taken the mark for himself is no heir, and nor is his child
            return self._marks.read(one.parent) is None
        except OSError:
            return True


def _born(tgid: int, mark: int) -> _Born | None:
    """None where it has gone."""
    stat, uid = stat_of(tgid), _uid(tgid)
    if not stat or uid is None:
        return None
    return _Born(mark, int(stat[_PARENT]), int(stat[_START]), uid)


def _uid(tgid: int) -> int | None:
    """The real uid; None where the process is gone."""
    try:
        with open(f"/proc/{tgid}/status", "rb", buffering=0) as file:
            status = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(status[status.index(b"\nUid:") + 5 :].split(maxsplit=1)[0])


def born_with(tid: int) -> int | None:
    """The soft limit of a thread's process; None where that may not be known. Raises ProcessLookupError."""
    try:
        return resource.prlimit(tid, LOCKS)[0]
    except PermissionError:
        return None
