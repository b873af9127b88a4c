"""Prints each expectation with what was found, at once: a machine that hangs shows where."""

from __future__ import annotations

import json
from typing import TextIO

Value = str | int | float


class Checks:
    """Prints a JSON object for each check. ``part``: the part of the scenario that checks now."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.part = ""

    def tell(self, **facts: object) -> None:
        print(json.dumps(facts), file=self._stream, flush=True)

    def equal(self, what: str, found: Value, expected: Value, note: str = "") -> None:
        self._tell(what, found, expected, ok=found == expected, note=note)

    def near(self, what: str, found: float, expected: float, tolerance: float, note: str = "") -> None:
        """``tolerance``: the part of ``expected`` that ``found`` may be off by."""
        ok = is_near(found, expected, tolerance)
        self._tell(what, round(found, 4), expected, ok=ok, tolerance=tolerance, note=note)

    def at_least(self, what: str, found: float, least: float, note: str = "") -> None:
        self._tell(what, round(found, 4), f">= {least:g}", ok=found >= least, note=note)

    def at_most(self, what: str, found: float, most: float, note: str = "") -> None:
        self._tell(what, round(found, 4), f"<= {most:g}", ok=found <= most, note=note)

    def _tell(self, what: str, found: Value, expected: Value, *, ok: bool, note: str = "", **facts: object) -> None:
        more = {**facts, **({"note": note} if note else {})}
        self.tell(part=self.part, what=what, found=found, expected=expected, ok=ok, **more)


def is_near(found: float, expected: float, tolerance: float) -> bool:
    """Whether a figure is off by at most this part of the expected one."""
    return abs(found - expected) <= tolerance * expected
