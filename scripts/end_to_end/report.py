"""The scenario's checks as a table, JSON or Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TargetRun:
    """The checks of one target.

    ``about``: its kernel, layout, CPUs. ``broken``: why the scenario ended early, or "".
    """

    target: str
    about: dict[str, Any]
    checks: tuple[dict[str, Any], ...]
    broken: str = ""

    @property
    def failed(self) -> list[dict[str, Any]]:
        return [check for check in self.checks if not check["ok"]]

    @property
    def held(self) -> bool:
        return not self.broken and not self.failed and bool(self.checks)


def read(target: str, printed: str, code: int) -> TargetRun:
    """What the scenario printed: JSON objects, and lines of a traceback if it broke."""
    rows, other = [], []
    for line in filter(str.strip, printed.splitlines()):
        try:
            rows.append(json.loads(line))
        except ValueError:
            other.append(line.strip())
    about = {key: value for row in rows if "what" not in row for key, value in row.items()}
    broken = f"exit {code}: {(other or ['it printed nothing'])[-1]}" if code else ""
    return TargetRun(target, about, tuple(row for row in rows if "what" in row), broken)


def as_json(runs: Sequence[TargetRun]) -> str:
    rows = [
        {"target": run.target, **run.about, "held": run.held, "broken": run.broken, "checks": run.checks}
        for run in runs
    ]
    return json.dumps(rows, indent=1)


def as_text(run: TargetRun) -> str:
    """Aligned, a line for each check."""
    rows = [("", "PART", "WHAT", "EXPECTED", "FOUND", "")]
    for check in run.checks:
        mark = "ok" if check["ok"] else "FAILED"
        rows.append(
            (mark, check["part"], check["what"], _expected(check), _shown(check["found"]), check.get("note", ""))
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([f"{run.target}: {_title(run)}", *lines, _summary(run)])


def as_markdown(runs: Sequence[TargetRun]) -> str:
    """One table, a column for each target: what was found, and in brackets what was expected where that differs."""
    whats = dict.fromkeys((check["part"], check["what"]) for run in runs for check in run.checks)
    lines = ["| | | " + " | ".join(_title(run) for run in runs) + " |", "|---|---|" + "---|" * len(runs)]
    for part, what in whats:
        cells = [_cell(run, part, what) for run in runs]
        lines.append(f"| {part} | {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(run: TargetRun, part: str, what: str) -> str:
    found = [check for check in run.checks if (check["part"], check["what"]) == (part, what)]
    if not found:
        return ""
    check = found[0]
    text = _shown(check["found"])
    if _expected(check) != text:
        text += f" ({_expected(check)})"
    return text if check["ok"] else f"**{text}**"


def _title(run: TargetRun) -> str:
    return f"{run.about.get('kernel', run.target)} {run.about.get('layout', '')}".strip()


def _expected(check: dict[str, Any]) -> str:
    off = f" ±{check['tolerance']:.0%}" if "tolerance" in check else ""
    return _shown(check["expected"]) + off


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _summary(run: TargetRun) -> str:
    text = f"{len(run.checks) - len(run.failed)} of {len(run.checks)} hold, {run.about.get('seconds', '?')} s"
    return f"{text}; broken: {run.broken}" if run.broken else text
