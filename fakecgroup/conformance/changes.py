"""What differs between two kernels, by file: a short list instead of every operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .case import Answer
from .named_file import file_named
from .replay import Difference, Result
from .stand_in import innermost

NEW = "is there"
GONE = "is not there"
_ABSENT = ("ENOENT", "ENOENT@open")
_DIRECTORIES = ("listdir", "listraw")


@dataclass
class Change:
    """One file, and how it answers otherwise. ``operations``: how many; ``cases``: the names of theirs, in order."""

    file: str
    what: str
    operations: int = 0
    cases: list[str] = field(default_factory=list)


def changes(results: Iterable[Result]) -> list[Change]:
    """The changes, those in most cases first.

    What follows in a case after its first difference may be a consequence, so only differences about the same file
    count with it.
    """
    found: dict[tuple[str, str], Change] = {}
    for result in results:
        first: set[str] = set()
        for difference in result.differences:
            for file, what in changes_of(difference):
                if not first or file in first or what in (NEW, GONE):
                    one = found.setdefault((file, what), Change(file, what))
                    one.operations += 1
                    if result.case.name not in one.cases:
                        one.cases.append(result.case.name)
            first = first or {file for file, _ in changes_of(difference)}
    return sorted(found.values(), key=lambda one: (-len(one.cases), one.file, one.what))


def changes_of(difference: Difference) -> list[tuple[str, str]]:
    """The files that a difference is about, and how each answers otherwise."""
    expected, got = difference.expected, difference.got
    op = innermost(difference.op)
    file = file_named(difference.case, difference.index)
    if op[0] in _DIRECTORIES and expected[0] is None and got[0] is None:
        before, now = set(expected[1]), set(got[1])
        names = [(name, NEW) for name in sorted(now - before)] + [(name, GONE) for name in sorted(before - now)]
        if names:
            return names
        return [(file, "another order")]
    if expected[0] in _ABSENT and got[0] not in _ABSENT:
        return [(file, NEW)]
    if got[0] in _ABSENT and expected[0] not in _ABSENT:
        return [(file, GONE)]
    if expected[0] != got[0]:
        return [(file, f"{op[0]}: {_said(expected)} -> {_said(got)}")]
    return [(file, f"{op[0]}: another value")]


def _said(answer: Answer) -> str:
    return str(answer[0]) if answer[0] is not None else "done"
