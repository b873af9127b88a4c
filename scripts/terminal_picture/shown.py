"""Texts to compare: what a program printed on a terminal, and what an SVG of it shows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

_TEXT = "{http://www.w3.org/2000/svg}text"
#: rich makes the cells of a terminal so wide.
_CELL = 12.2


def of_terminal(printed: str) -> str:
    """What was printed, without colours and without blanks at the ends of lines."""
    return _stripped(re.sub(r"\033\[[0-9;]*m", "", printed).splitlines())


def of_svg(svg: str) -> str:
    """The lines of an SVG made by `svg.picture_of`, without blanks at their ends."""
    lines: dict[int, str] = {}
    for element in ElementTree.fromstring(svg).iter(_TEXT):
        clip = re.search(r"line-(\d+)", element.get("clip-path", ""))
        if clip is not None:
            number = int(clip[1])
            column = round(float(element.get("x", "0")) / _CELL)
            lines[number] = lines.get(number, "").ljust(column) + (element.text or "").replace("\xa0", " ")
    return _stripped(lines.get(number, "") for number in range(max(lines, default=-1) + 1))


def _stripped(lines: Iterable[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip("\n")
