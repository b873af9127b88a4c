"""A booted kernel that is asked case by case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fakecgroup.conformance.case import Answer, Case
from fakecgroup.conformance.recording import RecordedCase
from fakecgroup.conformance.replay import replay
from fakecgroup_mount.conformance import target_guest
from fakecgroup_mount.conformance.target_guest import BATCH, GuestTarget
from fakecgroup_mount.vm.asking import AnsweredCase
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.wire import RawCase

OK: Answer = (None, None)


def case(number: int, operations: int = 2) -> Case:
    return Case(f"case {number}", "v2", tuple(("mkdir", f"d{index}") for index in range(operations)))


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the cases of each boot. The guest answers all with success, but "case 3" stops the machine."""
    found: list[list[str]] = []

    def ask(
        image: Image, layout: str, cases: Sequence[Case], report: Callable[[str], None], machine: str
    ) -> list[AnsweredCase]:
        found.append([one.name for one in cases])
        return [
            AnsweredCase(
                one, RawCase({}, [OK], "hang") if one.name == "case 3" else RawCase({}, [OK] * len(one.ops), "ok")
            )
            for one in cases
        ]

    monkeypatch.setattr(target_guest, "ask", ask)
    return found


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image("kernel 6.12", tmp_path / "bzImage", "amd64", "6.12")


def test_a_batch_is_asked_in_one_boot(boots: list[list[str]], image: Image) -> None:
    cases = [case(number) for number in range(10, 10 + BATCH + 1)]
    target = GuestTarget(image, "plain", cases)
    for one in cases:
        assert replay(RecordedCase("f", one, (OK, OK)), target).differences == ()
    assert [len(names) for names in boots] == [BATCH, 1]


def test_a_process_that_has_other_cases_boots_for_their_batch(boots: list[list[str]], image: Image) -> None:
    cases = [case(number) for number in range(10, 10 + 2 * BATCH)]
    target = GuestTarget(image, "plain", cases)
    replay(RecordedCase("f", cases[BATCH], (OK, OK)), target)
    assert boots == [[one.name for one in cases[BATCH:]]]


def test_a_case_that_is_done_again_is_asked_again(boots: list[list[str]], image: Image) -> None:
    cases = [case(11), case(12)]
    target = GuestTarget(image, "plain", cases)
    for _ in range(2):
        replay(RecordedCase("f", cases[0], (OK, OK)), target)
    assert boots == [["case 11", "case 12"], ["case 11"]]


def test_an_operation_that_stops_the_machine_is_a_difference(boots: list[list[str]], image: Image) -> None:
    target = GuestTarget(image, "plain", [case(3, 4)])
    result = replay(RecordedCase("f", case(3, 4), (OK,) * 4), target)
    assert [(one.index, one.got) for one in result.differences] == [(1, ("HANG", None))]
    assert result.compared == 2


def test_what_is_not_asked_is_passed_over(boots: list[list[str]], image: Image) -> None:
    target = GuestTarget(image, "plain", [case(11, 3)])
    assert replay(RecordedCase("f", case(11, 3), (OK, ("-", None), OK)), target).compared == 2
