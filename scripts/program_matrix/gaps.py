"""What is known not to work, and why.

A step that is listed here and works is as wrong as one that is not listed and does not work.
"""

from __future__ import annotations

from .run import Done, Ran

GAPS: dict[tuple[str, str, str], str] = {}
"""The reason, by program, layout and command."""


def gap(program: str, layout: str, command: str) -> str:
    """Why a step is known not to work, or ""."""
    return GAPS.get((program, layout, command), "")


def surprises(ran: Ran) -> list[str]:
    """Where it went otherwise than the page has it, a line for each step."""
    return [line for done in ran.steps if (line := _surprise(ran, done))]


def _surprise(ran: Ran, done: Done) -> str:
    reason = gap(ran.program.name, ran.layout, done.step.command)
    if done.wrong and not reason:
        return f"{done.step.command}: {done.wrong}"
    if reason and not done.wrong:
        return f"{done.step.command}: works, and is in gaps.py: {reason}"
    return ""
