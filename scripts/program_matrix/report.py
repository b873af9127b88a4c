"""The results as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .gaps import gap
from .release import this_release
from .run import ProgramResult, surprises


def as_json(runs: Sequence[ProgramResult]) -> str:
    return json.dumps([_data(ran) for ran in runs], indent=1)


def _data(ran: ProgramResult) -> dict[str, Any]:
    steps = [
        {
            "command": done.step.command,
            "then": done.step.then,
            "ok": not done.wrong,
            "wrong": done.wrong,
            "known": gap(this_release(), ran.program.name, ran.layout, done.step.command),
        }
        for done in ran.steps
    ]
    return {
        "program": ran.program.name,
        "release": this_release(),
        "package": ran.program.package,
        "version": ran.version,
        "layout": ran.layout,
        "not_run": ran.reason,
        "as_expected": not surprises(ran),
        "steps": steps,
    }


def as_text(ran: ProgramResult) -> str:
    """A line for the program, and one for each step that did not go as it must."""
    head = f"{ran.program.name:14} {ran.layout:6} "
    if ran.reason:
        return head + f"not run: {ran.reason}"
    good = sum(not done.wrong for done in ran.steps)
    lines = [head + f"{good:2} of {len(ran.steps):2}  {ran.version}"]
    for done in ran.steps:
        if done.wrong:
            reason = gap(this_release(), ran.program.name, ran.layout, done.step.command)
            lines.append(f"  {done.step.command}: {'known: ' + reason if reason else done.wrong}")
        elif line := next((line for line in surprises(ran) if line.startswith(f"{done.step.command}: works")), ""):
            lines.append(f"  {line}")
    return "\n".join(lines)
