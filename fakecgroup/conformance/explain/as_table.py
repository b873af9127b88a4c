"""Explanations for people."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from fakecgroup.conformance.case import Answer, Op
from fakecgroup.conformance.explain.explanation import Explanation
from fakecgroup.conformance.explain.kernel_functions import KernelFunction
from fakecgroup.conformance.recording import PLAIN
from fakecgroup.conformance.replay import same
from fakecgroup.conformance.titles import title

_STEP = 56  # characters of an operation
_ANSWER = 30  # of an answer
_WIDTH = 110  # of a line of text
_SPECIAL = {"?": "varies", "-": "not asked", "HANG": "the machine stopped", "LOST": "who asked died"}


def table_text(name: str, found: Sequence[Explanation]) -> str:
    """For each layout a line for each operation, a column for each kernel, then the kernel's functions.

    An answer that is that of the kernel to its left is =. A line with another one begins with *.
    """
    parts = []
    for one in found:
        where = one.case.layout if one.machine == PLAIN else f"{one.case.layout} with {one.machine}"
        parts.append(f"{where}, {one.family.replace('_', ' ')}: {title(name)}")
        parts += [*_aligned(list(_rows(one))), *_functions(one.functions), ""]
    return "\n".join(parts[:-1])


def _rows(one: Explanation) -> Iterator[list[str]]:
    yield [" ", "", "", *one.answers]
    for index, op in enumerate(one.case.ops):
        shown: list[str] = []
        before: Answer | None = None
        for answers in one.answers.values():
            answer = answers[index]
            shown.append("=" if before is not None and same(before, answer) else _answer(answer))
            before = answer
        yield ["*" if one.differs(index) else " ", str(index), _cut(_operation(op), _STEP), *shown]


def _operation(op: Op) -> str:
    return " ".join(part if isinstance(part, str) and _is_word(part) else json.dumps(part) for part in op)


def _is_word(text: str) -> bool:
    return bool(text) and text.isprintable() and not any(letter in " \"'\\" for letter in text)


def _answer(answer: Answer) -> str:
    error, value = answer
    if error is not None:
        return _SPECIAL.get(error, error)
    return "ok" if value is None else _cut(json.dumps(value), _ANSWER)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _aligned(rows: list[list[Any]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for mark, number, *cells in rows:
        aligned = (cell.ljust(width) for cell, width in zip(cells, widths[2:], strict=True))
        yield f"{mark} {number.rjust(widths[1])}  {'  '.join(aligned)}".rstrip()


def _functions(functions: Sequence[KernelFunction]) -> Iterator[str]:
    if functions:
        yield ""
        yield "the kernel's functions:"
    for one in functions:
        names = ", ".join(one.names)
        where = f"{names} ({one.source})" if names and one.source else names or one.source or "not named in the model"
        yield f"  {f'{one.does} {one.file}'.rstrip()}: {where}"
        if one.rule:
            yield from textwrap.wrap(one.rule, _WIDTH, initial_indent="      ", subsequent_indent="      ")
