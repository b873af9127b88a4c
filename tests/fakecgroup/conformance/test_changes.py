"""What has changed between two kernels, as a short list."""

from __future__ import annotations

from typing import Any

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Answer, Case
from fakecgroup.conformance.changes import GONE, NEW, changes
from fakecgroup.conformance.recording import VARIES
from fakecgroup.conformance.replay import Difference, Result, same
from fakecgroup.conformance.report.as_changes import changes_text


def result(
    *differences: tuple[tuple[Any, ...], Answer, Answer], name: str = "one", before: tuple[tuple[Any, ...], ...] = ()
) -> Result:
    case = Case(name, "v2", (*before, *(op for op, _, _ in differences)))
    start = len(before)
    return Result(
        case, 0, {}, tuple(Difference(case, start + n, was, now) for n, (_, was, now) in enumerate(differences))
    )


def listed(*results: Result) -> list[tuple[str, str, int]]:
    return [(one.file, one.what, len(one.cases)) for one in changes(results)]


def test_no_difference_is_no_change() -> None:
    assert changes([result()]) == []


def test_a_file_that_only_one_kernel_has_is_new_or_gone() -> None:
    absent: Answer = ("ENOENT@open", None)
    assert listed(result((("read", "a/cpu.idle"), absent, (None, "0\n")))) == [("cpu.idle", NEW, 1)]
    assert listed(result((("read", "a/cpu.idle"), (None, "0\n"), absent))) == [("cpu.idle", GONE, 1)]


def test_a_listing_names_the_files() -> None:
    before, now = ["a", "b"], ["b", "c"]
    assert listed(result((("listdir", "."), (None, before), (None, now)))) == [("a", GONE, 1), ("c", NEW, 1)]


def test_another_errno_names_both() -> None:
    op = ("in", "w", "write", "a/cpu.max", "0")
    assert listed(result((op, ("EINVAL@write", None), (None, None)))) == [("cpu.max", "write: EINVAL@write -> done", 1)]


def test_a_handle_stands_for_its_file() -> None:
    opened = (("open", "h", "a/cpu.max"),)
    found = listed(result((("fread", "h", 4096), (None, "max\n"), (None, "1\n")), before=opened))
    assert found == [("cpu.max", "fread: another value", 1)]


def test_what_follows_about_other_files_is_a_consequence() -> None:
    first = (("write", "a/cpu.max", "x"), ("EINVAL@write", None), (None, None))
    second = (("read", "b/pids.max"), (None, "1\n"), (None, "2\n"))
    assert listed(result(first, second)) == [("cpu.max", "write: EINVAL@write -> done", 1)]


def test_a_change_in_more_cases_comes_first() -> None:
    once = (("read", "a/a"), (None, "1\n"), (None, "2\n"))
    twice = (("read", "a/b"), (None, "1\n"), (None, "2\n"))
    found = listed(result(once, name="x"), result(twice, name="y"), result(twice, name="z"))
    assert found == [("b", "read: another value", 2), ("a", "read: another value", 1)]


def test_the_table_has_a_row_for_each_change_on_one_line() -> None:
    odd = result((("read", "a/" + "x\n" * 100), (None, "1\n"), (None, "2\n")))
    text = changes_text(changes([odd]))
    assert text.splitlines() == [
        "file                                      change               cases  for example",
        f"{('x?' * 100)[:37]}...  read: another value      1  one",
    ]


def test_the_new_files_of_a_kernel_are_listed() -> None:
    """Between the recordings of 6.12 and 7.2."""
    before = {one.case.digest: one for one in recording.load("v2", "6.12").cases}
    results = []
    for one in recording.load("v2", "7.2").cases:
        pairs = enumerate(zip(before[one.case.digest].answers, one.answers, strict=False))
        results.append(
            Result(
                one.case,
                0,
                {},
                tuple(
                    Difference(one.case, index, was, now)
                    for index, (was, now) in pairs
                    if VARIES not in (was, now) and not same(was, now)
                ),
            )
        )
    found = changes(results)
    assert {one.file for one in found if one.what == NEW} == {
        "cgroup.stat.local",
        "cpu.uclamp.max",
        "cpu.uclamp.min",
        "memory.zswap.current",
        "memory.zswap.max",
        "memory.zswap.writeback",
        "rdma.events",
        "rdma.events.local",
        "rdma.peak",
    }
    assert "cpuset.cpus.partition" in {one.file for one in found}
