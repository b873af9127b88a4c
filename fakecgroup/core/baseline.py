"""Counts that go on from others: from those that a file of another machine has shown."""

from __future__ import annotations

import re

from ..named_tuple import NamedTuple

_NUMBER = re.compile(r"(?<![^\s=])\d+(?=\s|$)")

_Key = tuple[str, int]  # a line without its numbers, and how many such lines are before it


class Baseline(NamedTuple):
    """`began` is the text that a file is to have begun with, `was` the text that the model had for it then."""

    began: str
    was: str

    def shown(self, now: str) -> str:
        """What the file shows if the model has the text `now`: each number with what it has grown by since.

        Lines that the model does not have stay as they were. None is ever less than 0.
        """
        if now == self.was:
            return self.began
        before, after = _lines(self.was), _lines(now)
        shown = []
        for key, (line, numbers) in _lines(self.began).items():
            then, its = before.get(key), after.pop(key, None)
            if then is not None and its is not None:
                line = _with_numbers(line, [n + b - a for n, a, b in zip(numbers, then[1], its[1], strict=True)])
            shown.append(line)
        shown += [line for key, (line, numbers) in after.items() if before.get(key) != (line, numbers)]
        return "".join(shown)


def _with_numbers(line: str, numbers: list[int]) -> str:
    left = iter(numbers)
    return _NUMBER.sub(lambda _: str(max(0, next(left))), line)


def _lines(text: str) -> dict[_Key, tuple[str, list[int]]]:
    """Each line with its numbers."""
    found: dict[_Key, tuple[str, list[int]]] = {}
    counts: dict[str, int] = {}
    for line in text.splitlines(keepends=True):
        bare = _NUMBER.sub("#", line)
        counts[bare] = counts.get(bare, 0) + 1
        found[bare, counts[bare]] = line, list(map(int, _NUMBER.findall(line)))
    return found
