"""A booted kernel's answers beside recorded ones; a function takes the machine's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fakecgroup.conformance.case import Answer, Case
from fakecgroup.conformance.recording import VARIES, RecordedCase, Recording
from fakecgroup_mount.conformance.target_vm import Verified, compared, verify
from fakecgroup_mount.vm.asking import AnsweredCase
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.survey import survey_case
from fakecgroup_mount.vm.wire import RawCase

IMAGE = Image("the kernel", Path("bzImage"), "amd64")
CASE = Case("one", "v2", (("mkdir", "a"), ("read", "a/x"), ("rmdir", "a")))
DISKS = Case("disks", "v2", (("write", "io.max", "259:0 rbps=1"),))
RIGHT: list[Answer] = [(None, None), (None, "1\n"), (None, None)]
ABOUT: list[Answer] = [
    (None, "6.8.0\n"), (None, "nodev\tcgroup2\n"), (None, ""),
    (None, "major\n\n259 0 1 nvme0n1\n259 1 1 nvme1n1\n"), ("ENOENT@open", None),
]  # fmt: skip


def recorded(case: Case = CASE, answers: Sequence[Answer] = RIGHT, verdict: str = "ok") -> RecordedCase:
    return RecordedCase("family", case, tuple(answers), verdict)


def now(answers: Sequence[Answer], case: Case = CASE, verdict: str = "ok") -> AnsweredCase:
    return AnsweredCase(case, RawCase({}, list(answers), verdict))


Boots = Callable[..., None]


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> Boots:
    """Says what the cases are answered in the first boot, in the second, and so on."""

    def say(*boots: Sequence[AnsweredCase]) -> None:
        left = list(boots)
        monkeypatch.setattr("fakecgroup_mount.conformance.target_vm.ask", lambda *arguments: left.pop(0))

    return say


def test_the_same_answers_are_no_difference() -> None:
    assert compared(recorded(), now(RIGHT)).differences == ()


def test_another_answer_is_a_difference() -> None:
    result = compared(recorded(), now([RIGHT[0], (None, "2\n"), RIGHT[2]]))
    assert [(d.index, d.expected, d.got) for d in result.differences] == [(1, (None, "1\n"), (None, "2\n"))]
    assert (result.compared, result.skipped) == (3, 0)


def test_what_the_recorded_kernel_does_not_answer_twice_is_not_compared() -> None:
    result = compared(recorded(answers=[RIGHT[0], VARIES, RIGHT[2]]), now([RIGHT[0], (None, "2\n"), RIGHT[2]]))
    assert (result.compared, result.skipped, result.differences) == (2, 1, ())


@pytest.mark.parametrize("verdict", ["hang", "lost"])
def test_a_kernel_that_stops_in_a_case_differs_there(verdict: str) -> None:
    result = compared(recorded(), now(RIGHT[:1], verdict=verdict))
    assert [(d.index, d.got) for d in result.differences] == [(1, (verdict.upper(), None))]


def test_both_stop_at_the_same_operation() -> None:
    assert compared(recorded(answers=RIGHT[:1], verdict="hang"), now(RIGHT[:1], verdict="hang")).differences == ()


def test_a_kernel_goes_on_where_the_recorded_one_stopped() -> None:
    result = compared(recorded(answers=RIGHT[:1], verdict="hang"), now(RIGHT))
    assert [(d.index, d.expected) for d in result.differences] == [(1, ("HANG", None))]


def asked_again(cases: tuple[RecordedCase, ...], report: Callable[[str], None]) -> Verified:
    return verify(IMAGE, Recording("v2", "6.12", {}, cases), cases, report)


WRONG: list[Answer] = [RIGHT[0], (None, "2\n"), RIGHT[2]]


def test_what_differs_twice_is_a_difference(boots: Boots) -> None:
    boots([now(ABOUT, survey_case("v2")), now(WRONG)], [now(WRONG)])
    found = asked_again((recorded(),), lambda text: None)
    assert [tally.family for tally in found.tallies] == ["family"]
    assert len(found.tallies[0].differences) == 1
    assert (found.unsteady, found.survey.release) == ([], "6.8.0")


def test_what_differs_once_is_none(boots: Boots) -> None:
    boots([now(ABOUT, survey_case("v2")), now(WRONG)], [now(RIGHT)])
    found = asked_again((recorded(),), lambda text: None)
    assert (found.tallies[0].differences, found.unsteady) == ([], ["one"])


def test_what_three_cases_show_is_not_asked_again(boots: Boots) -> None:
    several = tuple(recorded(Case(f"case {number}", "v2", CASE.ops)) for number in range(3))
    boots([now(ABOUT, survey_case("v2")), *(now(WRONG, one.case) for one in several)])
    told: list[str] = []
    found = asked_again(several, told.append)
    assert (len(found.tallies[0].differences), found.unsteady, told) == (3, [], [])


def test_a_case_that_stops_the_machine_is_asked_again(boots: Boots) -> None:
    several = tuple(recorded(Case(f"case {number}", "v2", CASE.ops)) for number in range(3))
    stopped = [now(RIGHT[:1], one.case, "hang") for one in several]
    boots([now(ABOUT, survey_case("v2")), *stopped], [now(RIGHT, one.case) for one in several])
    found = asked_again(several, lambda text: None)
    assert (found.tallies[0].differences, found.unsteady) == ([], ["case 0", "case 1", "case 2"])


def test_cases_about_disks_are_left_out_where_there_are_none(boots: Boots) -> None:
    boots(
        [now([*ABOUT[:3], (None, ""), ABOUT[4]], survey_case("v2")), now(RIGHT), now([("ENODEV@write", None)], DISKS)]
    )
    told: list[str] = []
    both = (recorded(), recorded(DISKS, [(None, None)]))
    found = asked_again(both, told.append)
    assert (found.tallies[0].compared, found.tallies[0].skipped, found.tallies[0].differences) == (3, 1, [])
    assert told == ["the kernel has no NVMe driver: 1 cases about disks are not compared"]


def test_a_kernel_without_the_layout_is_one_line(boots: Boots) -> None:
    boots([now([ABOUT[0], (None, "nodev\tcgroup\n"), *ABOUT[2:]], survey_case("v2")), now(RIGHT)])
    with pytest.raises(MachineError, match=r"^the kernel has no v2 cgroups: "):
        asked_again((recorded(),), lambda text: None)
