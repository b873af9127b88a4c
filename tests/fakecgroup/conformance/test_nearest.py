"""Which recorded kernel another one is most like. The other one is a recorded one, compared with the rest."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.nearest import (
    ERRNO,
    FILE_NOT_THERE,
    FILE_THERE,
    ORDER,
    VALUE,
    likeness,
    option_of,
    ranked,
)
from fakecgroup.conformance.nearest_report import print_nearest
from fakecgroup.conformance.recording import VARIES, Recording


def recorded(layout: str, kernel: str, *families: str) -> Recording:
    whole = recording.load(layout, kernel)
    return replace(whole, cases=tuple(one for one in whole.cases if not families or one.family in families))


def test_a_kernel_is_most_like_itself() -> None:
    found = ranked(recorded("v2", "6.1", "file_sets", "pids"))
    assert (found[0].kernel, found[0].different) == ("6.1", 0)
    assert [one.kernel for one in found[1:]] == ["6.12", "5.10", "7.2"]
    assert all(one.different for one in found[1:])


def test_files_are_named_with_the_build_option_that_they_need() -> None:
    found = likeness(recorded("v2", "7.2", "file_sets"), recorded("v2", "6.12", "file_sets"))
    assert "memory.zswap.max (CONFIG_ZSWAP)" in found.of(FILE_THERE)
    assert "cgroup.stat.local" in found.of(FILE_THERE)
    assert found.of(FILE_NOT_THERE) == {}


def test_files_that_are_missing_are_named() -> None:
    found = likeness(recorded("v2", "6.12", "file_sets"), recorded("v2", "7.2", "file_sets"))
    assert "cpu.uclamp.max (CONFIG_UCLAMP_TASK_GROUP)" in found.of(FILE_NOT_THERE)
    assert found.of(FILE_THERE) == {}


def test_another_order_of_a_listing_is_a_cause_of_its_own() -> None:
    whole = recorded("v2", "6.12", "file_sets")
    [number] = [n for n, one in enumerate(whole.cases) if one.case.name == "list of a child with pids"]
    one = whole.cases[number]
    at = [op[0] for op in one.case.ops].index("listraw")
    listed = list(reversed(one.answers[at][1]))
    turned = replace(one, answers=(*one.answers[:at], (None, listed), *one.answers[at + 1 :]))
    cases = (*whole.cases[:number], turned, *whole.cases[number + 1 :])
    found = likeness(replace(whole, cases=cases), whole)
    assert [each.index for each in found.of(ORDER)[""]] == [at]
    assert found.different == 1


def test_another_value_and_another_errno_are_told_apart() -> None:
    found = likeness(recorded("v2", "7.2", "cpu"), recorded("v2", "6.12", "cpu"))
    assert all(one.got[0] is one.expected[0] is None for one in found.of(VALUE)[""])
    assert all(one.got[0] != one.expected[0] for one in found.of(ERRNO)[""])


def test_what_a_kernel_does_not_answer_twice_is_not_compared() -> None:
    whole = recorded("v2", "6.12", "pids")
    first = whole.cases[0]
    varying = replace(whole, cases=(replace(first, answers=(VARIES,) * len(first.answers)), *whole.cases[1:]))
    found = likeness(varying, whole)
    assert (found.different, found.compared) == (0, sum(len(one.answers) for one in whole.cases[1:]))


@pytest.mark.parametrize(
    ("file", "option"),
    [("memory.limit_in_bytes", "MEMCG_V1"), ("misc.max", "CGROUP_MISC"), ("pids.max", ""), ("no.such", "")],
)
def test_a_file_has_the_option_of_its_row_or_controller(file: str, option: str) -> None:
    assert option_of(file) == option


def test_the_table_names_the_nearest_and_the_causes(capsys: pytest.CaptureFixture[str]) -> None:
    against = [recorded("v2", kernel, "file_sets", "pids") for kernel in ("5.10", "6.1")]
    print_nearest("6.6.6-test", "v2", ranked(recorded("v2", "6.12", "file_sets", "pids"), against), "table", 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6.6.6-test on v2 is most like 6.1"
    assert lines[2] == "kernel  operations  different"
    assert any(line.startswith("file there") and line.endswith("pids.events.local") for line in lines)


def test_json_has_all_kernels_and_causes(capsys: pytest.CaptureFixture[str]) -> None:
    print_nearest("6.6.6-test", "v2", ranked(recorded("v2", "6.12", "pids")), "json", 0)
    told = json.loads(capsys.readouterr().out)
    assert next(one["kernel"] for one in told["nearest"]) == "6.12"
    assert {"cause", "file", "option", "operations"} == set(told["nearest"][-1]["causes"][0])


def test_an_option_is_told_with_its_state_where_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    against = [recorded("v2", "6.12", "file_sets")]
    found = ranked(recorded("v2", "7.2", "file_sets"), against)
    print_nearest("7.2.0-test", "v2", found, "table", 0, frozenset({"ZSWAP"}))
    text = capsys.readouterr().out
    assert "memory.zswap.max (CONFIG_ZSWAP, y here)" in text
    assert "cpu.uclamp.max (CONFIG_UCLAMP_TASK_GROUP, not set here)" in text
