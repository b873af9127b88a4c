"""Decides which new processes were forked in a cgroup, by the marks that they inherited.

Any process can read another's mark and set it for itself (proc_pid_limits(5), prlimit(2)). So a mark counts only for a
process that was not seen before, and if its parent passes that mark on. A process whose maker has ended has another
parent by then. Its mark counts if it started after the mark was given, and has the uid of a process in that cgroup.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.host.fork_marks import LOCKS, ForkMark, ForkMarks
from fakecgroup_mount.host.usage import stat_of

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places

_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")  # ns
_PARENT, _START = 1, 19  # in what `stat_of` gives: the 3rd, 4th and 22nd field of proc_pid_stat(5)


class ForkedProcess(NamedTuple):
    """A process that was forked in these places. None is the roots: it only needs its own limit back."""

    tgid: int
    places: Places | None


class _Born(NamedTuple):
    """A new process: its mark, its parent, its start (ticks since boot), its real uid."""

    mark: int
    parent: int
    start: int
    uid: int


class InheritedMarks:
    """Judges new processes by `marks`. A process for which `inside` is true can neither see nor set marks, so it has
    its maker's.
    """

    def __init__(self, marks: ForkMarks, inside: Callable[[int], bool] = lambda tgid: False) -> None:
        self._marks = marks
        self._inside = inside
        self._uids: dict[Places, set[int]] = {}  # the uids of the processes there

    def note(self, tgid: int, places: Places) -> None:
        """A process is in these places."""
        uid = _uid(tgid)
        if uid is not None:
            self._uids.setdefault(places, set()).add(uid)

    def judge(self, found: Iterable[tuple[int, int]], *, siblings: bool = False) -> list[ForkedProcess]:
        """The processes in `found` that were forked in a cgroup. `found` has each new process and its mark.

        The oldest come first; of the same tick, in the order of `found`. They pass their mark on until they get their
        own. `siblings` says that no parent has ended since: then a mark that is not the parent's can only be the mark
        of a sibling (clone(2), CLONE_PARENT).
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
        line = []  # the child, then its new ancestors
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
        if not known and not self._may_have_lost_maker(one, mark, siblings):
            return None
        self._marks.inherit(tgid, one.mark)
        if mark.places is not None:
            self._uids.setdefault(mark.places, set()).add(one.uid)
        return ForkedProcess(tgid, mark.places)

    def _may_have_lost_maker(self, one: _Born, mark: ForkMark, siblings: bool) -> bool:
        """Whether the maker may have ended, or made it a sibling. Processes of the cgroup's users cannot be
        told apart.
        """
        if mark.places is None or (one.start + 1) * _TICK < mark.since:
            return False
        owner = stat_of(mark.owner)
        if siblings and owner and int(owner[_PARENT]) != one.parent:
            return False
        if one.uid not in self._uids.get(mark.places, ()) and one.uid != _uid(mark.owner):
            return False
        try:  # a process that has set itself a mark has not inherited it, and neither has its child
            return self._marks.read(one.parent) is None
        except OSError:
            return True


def _born(tgid: int, mark: int) -> _Born | None:
    """None if the process is gone."""
    stat, uid = stat_of(tgid), _uid(tgid)
    if not stat or uid is None:
        return None
    return _Born(mark, int(stat[_PARENT]), int(stat[_START]), uid)


def _uid(tgid: int) -> int | None:
    """The real uid; None if the process is gone."""
    try:
        with open(f"/proc/{tgid}/status", "rb", buffering=0) as file:
            status = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(status[status.index(b"\nUid:") + 5 :].split(maxsplit=1)[0])


def mark_value(tid: int) -> int | None:
    """The soft RLIMIT_LOCKS of a thread's process; None if we may not read it. Raises ProcessLookupError."""
    try:
        return resource.prlimit(tid, LOCKS)[0]
    except PermissionError:
        return None
