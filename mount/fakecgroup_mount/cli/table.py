"""Tables for people: columns in line, in colour where somebody looks at a terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

GREEN, YELLOW, RED = "32", "33", "31"


def lines(rows: Sequence[Sequence[str]], colours: Mapping[str, str], stream: TextIO) -> list[str]:
    """The rows as lines for the stream, each column as wide as its widest cell.

    For a terminal the second cell of a row is coloured where it is one of the words in `colours`.
    """
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    made = []
    for row in rows:
        cells = [*map(str.ljust, row[:-1], widths), row[-1]]
        if row[1] in colours and _may_colour(stream):
            cells[1] = f"\033[{colours[row[1]]}m{cells[1]}\033[0m"
        made.append("  ".join(cells).rstrip())
    return made


def _may_colour(stream: TextIO) -> bool:
    """Whether it is a terminal that understands colours, whose user has not said NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
