"""Expressions that are compiled late."""

from __future__ import annotations

import re

from fakecgroup import late_pattern


def test_an_expression_is_compiled_once() -> None:
    made = late_pattern.pattern(r"A(\d)", re.I)
    assert made().findall("a1 A2") == ["1", "2"]
    assert made() is made()


def test_all_that_are_known_can_be_compiled_ahead() -> None:
    made = late_pattern.pattern(rb"[a-f]+")
    late_pattern.compile_all()
    assert made().fullmatch(b"face")
