"""Replays recorded cases against a target and lists where it answers differently from the kernel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .case import Answer, Case, Op
from .normalise import Normaliser
from .recording import VARIES, RecordedCase


class Unsupported(Exception):
    """The target cannot do this operation.

    ``ends``: what follows in the case depends on it, so the rest is not compared.
    """

    def __init__(self, what: str, *, ends: bool = True) -> None:
        super().__init__(what)
        self.ends = ends


class Target(Protocol):
    """Something that answers operations as a kernel would."""

    @property
    def pids(self) -> Mapping[int, str]:
        """The pids of the case's processes so far, by number; ``self`` among them."""

    def start(self, case: Case) -> None:
        """Begin a case with an empty tree."""

    def do(self, op: Op) -> Answer:
        """Do one operation.  Raises Unsupported."""

    def finish(self) -> None:
        """End the case: processes gone, tree empty."""


@dataclass(frozen=True)
class Difference:
    """One operation that the target answered differently."""

    case: Case
    index: int
    expected: Answer
    got: Answer

    @property
    def op(self) -> Op:
        return self.case.ops[self.index]

    def __str__(self) -> str:
        return (
            f"{self.case.name}, operation {self.index}: {_short(self.op)}\n"
            f"    kernel  {_short(self.expected)}\n    target  {_short(self.got)}"
        )


@dataclass(frozen=True)
class Result:
    """The outcome of one case: operations compared, operations left out, differences."""

    case: Case
    compared: int
    skipped: int
    differences: tuple[Difference, ...]


def replay(recorded: RecordedCase, target: Target) -> Result:
    """Run one recorded case on a target.  Exceptions other than Unsupported come through: they are bugs."""
    case = recorded.case
    differences = []
    compared = 0
    target.start(case)
    try:
        normalise = Normaliser(target.pids)
        for index, (op, expected) in enumerate(zip(case.ops, recorded.answers, strict=False)):
            try:
                got = normalise(op, target.do(op))
            except Unsupported as reason:
                if reason.ends:
                    break
                continue
            if expected == VARIES:
                continue
            compared += 1
            if not same(expected, got):
                differences.append(Difference(case, index, expected, got))
    finally:
        target.finish()
    return Result(case, compared, len(case.ops) - compared, tuple(differences))


def replay_all(recorded: Iterable[RecordedCase], target: Target) -> Iterator[Result]:
    for one in recorded:
        yield replay(one, target)


def same(expected: Answer, got: Answer) -> bool:
    """Whether two answers are the same; a tuple counts as a list."""
    return expected[0] == got[0] and _plain(expected[1]) == _plain(got[1])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 300 else f"{text[:200]} ... {text[-60:]} ({len(text)} characters)"
