"""Operations that are left out, with their reasons, in the reports for people and programs."""

from __future__ import annotations

import json

from fakecgroup.conformance.report.as_json import json_text
from fakecgroup.conformance.report.as_table import table_text
from fakecgroup.conformance.report.subject import Subject
from tests.fakecgroup.conformance.report.tallies import result, tallies

LEFT_OUT = tallies(result("one", compared=0), result("two", compared=1), result("three"))


def test_a_real_machine_has_a_line_for_each_reason() -> None:
    text = table_text(LEFT_OUT, Subject("v2", "6.12", "host"), show=10)
    assert text.splitlines()[-2:] == ["not compared:", "  3  no such controller here"]


def test_no_reason_is_told_where_nothing_is_left_out() -> None:
    assert "not compared:" not in table_text(tallies(result("one")), Subject("v2", "6.12", "host"), show=10)


def test_the_json_has_a_count_for_each_reason() -> None:
    (family,) = json.loads(json_text(LEFT_OUT, Subject("v2", "6.12", "host"), {}))["families"]
    assert (family["not_compared"], family["left_out"]) == (3, {"no such controller here": 3})
