"""Changes between two kernels as a table."""

from __future__ import annotations

from collections.abc import Sequence

from fakecgroup.conformance.changes import Change

_WIDEST = 40  # characters of a file's name


def changes_text(changes: Sequence[Change]) -> str:
    """A row for each change, and a case that shows it."""
    rows = [("file", "change", "cases", "for example")]
    rows += [(_shown(one.file), one.what, str(len(one.cases)), one.cases[0]) for one in changes]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for file, what, cases, example in rows:
        lines.append(f"{file.ljust(widths[0])}  {what.ljust(widths[1])}  {cases.rjust(widths[2])}  {example}")
    return "\n".join(lines)


def _shown(name: str) -> str:
    """A name on one line: long ones are cut."""
    printable = "".join(one if one.isprintable() else "?" for one in name)
    return printable if len(printable) <= _WIDEST else f"{printable[: _WIDEST - 3]}..."
