"""Findings in programs: each is whole, and the model answers as the kernels did."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakecgroup.conformance.recording import RecordedCase
from fakecgroup.conformance.replay import replay
from fakecgroup.conformance.target_model import ModelTarget
from oracle_vm.hunt.finding import Answers, FindingError, findings, read
from oracle_vm.hunt.page import page

_ANSWERED = [(one, answers) for one in findings() for answers in one.answers]


@pytest.mark.parametrize(
    "answers",
    [pytest.param(answers, id=f"{one.name}-{answers.case.layout}-{answers.kernel}") for one, answers in _ANSWERED],
)
def test_the_model_answers_as_the_kernel_did(answers: Answers) -> None:
    recorded = RecordedCase("hunt", answers.case, answers.answers)
    result = replay(recorded, ModelTarget(answers.case.layout, answers.kernel))
    assert [str(one) for one in result.differences] == []
    assert not result.skipped


def test_the_page_is_made_from_what_was_asked() -> None:
    assert "| `a/cpu.max` ← `max 50000` |" in page()


def test_a_finding_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FindingError, match=f"{tmp_path.name}: .*finding.yaml"):
        read(tmp_path)


def test_an_outcome_that_is_no_heading_is_refused(tmp_path: Path) -> None:
    (tmp_path / "finding.yaml").write_text("outcome: strange\n")
    (tmp_path / "case.jsonl").write_text('["read", "memory.stat"]\n')
    with pytest.raises(FindingError, match="outcome 'strange' is none of lost, refused, read"):
        read(tmp_path)
