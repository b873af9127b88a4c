"""Compares what a target answers with what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .case import Answer
from .recording import VARIES, RecordedCase
from .target import Target


@dataclass(frozen=True)
class Difference:
    """One operation that the kernel answered otherwise."""

    case: str
    position: int
    op: tuple[Any, ...]
    kernel: Answer
    target: Answer

    def __str__(self) -> str:
        return f"{self.case}: operation {self.position} {list(self.op)}: kernel {self.kernel}, here {self.target}"


def differences(recorded: RecordedCase, target: Target) -> Iterator[Difference]:
    """Every operation of a case that the target answers in another way. Raises Unsupported."""
    answers = target.run(recorded.case)
    for position, (op, kernel, here) in enumerate(zip(recorded.case.ops, recorded.answers, answers, strict=False)):
        if kernel != VARIES and _plain(kernel) != _plain(here):
            yield Difference(recorded.case.name, position, op, kernel, here)


def _plain(answer: Answer) -> Answer:
    """Lists and dictionaries as JSON gives them back."""
    error, value = answer
    return error, (list(value) if isinstance(value, tuple) else value)
