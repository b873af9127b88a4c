"""Real programs in front of a tree, where they are installed: the cases of scripts/programs.

docs/evidence/programs.md shows them.
"""

from __future__ import annotations

import pytest

from program_matrix import page
from program_matrix.gaps import ALL, GAPS
from program_matrix.program import Program
from program_matrix.programs import PROGRAMS
from program_matrix.release import RELEASES
from program_matrix.run import run, surprises

from .conftest import Sandboxed


@pytest.mark.parametrize(
    ("program", "layout"),
    [
        pytest.param(program, layout, id=f"{program.name}-{layout}")
        for program in PROGRAMS
        for layout in program.layouts
    ],
)
def test_a_program_works_as_the_page_has_it(sandboxed: Sandboxed, program: Program, layout: str) -> None:
    ran = run(program, layout)
    if ran.reason:
        pytest.skip(ran.reason)
    assert surprises(ran) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_page_has_the_cases_and_the_known_gaps(program: Program) -> None:
    text = page.PAGE.read_text()
    assert page.as_known(program, page.versions(text)[program.name]) in text


def test_a_known_gap_is_of_a_case() -> None:
    steps = {
        (release, program.name, layout, command)
        for release in RELEASES
        for program in PROGRAMS
        for layout in program.layouts
        for command in (ALL, *(step.command for step in program.steps(layout)))
    }
    assert GAPS.keys() <= steps
