"""Replays recorded cases against a target and lists where it answers differently from the kernel."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fakecgroup.conformance.case import Answer, Case, Op
from fakecgroup.conformance.normalise import Normaliser
from fakecgroup.conformance.recording import NOT_ASKED, VARIES, RecordedCase
from fakecgroup.conformance.target import Target, UnsupportedError

_NOT_ASKED = "the recorded kernel was not asked"
_VARIES = "the recorded kernel does not answer twice the same"


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
    """The outcome of one case: operations compared, operations left out by reason, differences, seconds it took."""

    case: Case
    compared: int
    left_out: Mapping[str, int]
    differences: tuple[Difference, ...]
    seconds: float = 0.0

    @property
    def skipped(self) -> int:
        """The number of operations that were left out."""
        return sum(self.left_out.values())


def replay(recorded: RecordedCase, target: Target) -> Result:
    """Run one recorded case on a target.  Exceptions other than UnsupportedError come through: they are bugs."""
    case = recorded.case
    differences = []
    compared = 0
    began = time.monotonic()
    left_out: Counter[str] = Counter()
    target.start(case)
    try:
        normalise = Normaliser(target.pids)
        for index, (op, expected) in enumerate(zip(case.ops, recorded.answers, strict=False)):
            if expected == NOT_ASKED:
                left_out[_NOT_ASKED] += 1
                continue
            try:
                got = normalise(op, target.do(op))
            except UnsupportedError as reason:
                left_out[str(reason)] += 1
                if reason.ends:
                    left_out[str(reason)] += len(case.ops) - index - 1
                    break
                continue
            if expected == VARIES:
                left_out[_VARIES] += 1
                continue
            compared += 1
            if not same(expected, got):
                differences.append(Difference(case, index, expected, got))
    finally:
        target.finish()
    left_out[_NOT_ASKED] += len(case.ops) - compared - left_out.total()  # what came after the machine had stopped
    return Result(case, compared, +left_out, tuple(differences), time.monotonic() - began)


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
