"""Which recorded kernel another one is most like, and where it answers otherwise.

Pure: recordings come in, differences by cause come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from fakecgroup.base_files import dfl, legacy
from fakecgroup.conformance import recording
from fakecgroup.conformance.named_file import file_named
from fakecgroup.conformance.recording import NOT_ASKED, VARIES, RecordedCase, Recording
from fakecgroup.conformance.replay import Difference, same
from fakecgroup.conformance.seen_files import seen_files
from fakecgroup.conformance.stand_in import innermost
from fakecgroup.controllers import CONTROLLERS

#: The causes of a difference, in the order in which they are told.
CAUSES = FILE_THERE, FILE_NOT_THERE, VALUE, ERRNO, ORDER = (
    "file there",
    "file not there",
    "another value",
    "another errno",
    "another order",
)
_LISTS = ("listdir", "listraw")


@dataclass(frozen=True)
class Cause:
    """Why some answers differ. `what` is a file's name for the first two of CAUSES, else "". `option` is the build
    option that the file needs, without CONFIG_, if there is one."""

    kind: str
    what: str = ""
    option: str = ""


@dataclass
class Likeness:
    """How like a recorded `kernel` is: operations compared, and the differences by cause."""

    kernel: str
    compared: int = 0
    causes: dict[Cause, list[Difference]] = field(default_factory=dict)

    @property
    def different(self) -> int:
        return sum(map(len, self.causes.values()))

    def in_order(self) -> list[tuple[Cause, list[Difference]]]:
        """All causes in the order of CAUSES, and of the names."""
        return sorted(self.causes.items(), key=lambda item: (CAUSES.index(item[0].kind), item[0].what))

    def of(self, kind: str) -> dict[str, list[Difference]]:
        """The differences of one kind, by what they are about, with its build option."""
        found = {}
        for cause, differences in sorted(self.causes.items(), key=lambda item: item[0].what):
            if cause.kind == kind:
                found[cause.what + (f" (CONFIG_{cause.option})" if cause.option else "")] = differences
        return found


def ranked(answered: Recording, against: Iterable[Recording] | None = None) -> list[Likeness]:
    """All recordings of the layout, or these, the most like first.

    That is the one with the smallest part of answers that differ. Of two it is the one with more compared; then the
    newest that is not newer than this kernel.
    """
    others = recordings(answered.layout) if against is None else against

    def key(one: Likeness) -> tuple[float, int, tuple[bool, tuple[int, int]]]:
        return one.different / max(one.compared, 1), -one.compared, _distance(one.kernel, answered.kernel)

    return sorted((likeness(answered, other) for other in others), key=key)


def by_version(among: Iterable[Recording], release: str) -> Recording:
    """The newest recording that is not newer than a release, or else the oldest. There must be one."""
    return min(among, key=lambda one: _distance(one.kernel, release))


def recordings(layout: str) -> Iterator[Recording]:
    """What the known kernels answered on a layout."""
    return (recording.load(of, kernel) for of, kernel in recording.available() if of == layout)


def _distance(kernel: str, release: str) -> tuple[bool, tuple[int, int]]:
    """Whether a kernel is newer than a release, and how far the two are apart."""
    (major, minor), (own_major, own_minor) = _version(kernel), _version(release)
    apart = (own_major - major, own_minor - minor)
    return apart < (0, 0), max(apart, (-apart[0], -apart[1]))


def _version(kernel: str) -> tuple[int, int]:
    found = re.match(r"(\d{1,4})\.(\d{1,4})", kernel)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def likeness(answered: Recording, other: Recording) -> Likeness:
    """How the answers differ from those of another recording, over the operations that both were asked."""
    theirs = {one.case.digest: one for one in other.cases}
    judge = _Judge(_files(answered), _files(other))
    found = Likeness(other.kernel)
    for one in answered.cases:
        match = theirs.get(one.case.digest)
        if match is not None:
            _compare(one, match, judge, found)
    return found


def _files(recorded: Recording) -> frozenset[str]:
    """The names of all interface files that a kernel was seen to have."""
    sides = [seen_files([recorded], dfl=dfl) for dfl in (True, False)]
    return frozenset().union(*(names for side in sides if side for names in (side.root, side.child) if names))


def _compare(one: RecordedCase, other: RecordedCase, judge: _Judge, found: Likeness) -> None:
    unsaid = (NOT_ASKED, VARIES)
    for number, (mine, theirs) in enumerate(zip(one.answers, other.answers, strict=False)):
        if mine in unsaid or theirs in unsaid:
            continue
        found.compared += 1
        if not same(theirs, mine):
            difference = Difference(one.case, number, theirs, mine)
            found.causes.setdefault(judge.cause_of(difference), []).append(difference)


class _Judge:
    """Names the cause of a difference between two kernels with these files."""

    def __init__(self, mine: frozenset[str], theirs: frozenset[str]) -> None:
        self._there = mine - theirs
        self._not_there = theirs - mine

    def cause_of(self, difference: Difference) -> Cause:
        """The cause of one difference. Of several files in a listing it names the first."""
        op, (error, value), (expected_error, expected) = innermost(difference.op), difference.got, difference.expected
        if op[0] in _LISTS and isinstance(value, (list, tuple)) and isinstance(expected, (list, tuple)):
            changed = sorted(set(value) ^ set(expected))
            return next(filter(None, map(self._file, changed)), Cause(VALUE if changed else ORDER))
        named = self._file(file_named(difference.case, difference.index))
        return named or Cause(VALUE if error is expected_error is None else ERRNO)

    def _file(self, name: str) -> Cause | None:
        kind = FILE_THERE if name in self._there else FILE_NOT_THERE if name in self._not_there else None
        return None if kind is None else Cause(kind, name, option_of(name))


def option_of(name: str) -> str:
    """The build option that a file needs, as its row or its controller says; "" for none."""
    return _options().get(name, "")


@cache
def _options() -> dict[str, str]:
    found = {row.name: row.config or "" for row in (*dfl.FILES, *legacy.FILES)}
    for controller in CONTROLLERS:
        for table, option in (
            (controller.dfl_rows, controller.config),
            (controller.legacy_rows, controller.legacy_config),
        ):
            found |= {row.name: row.config or option or controller.config or "" for row in table}
    return found
