"""The scenarios of examples/."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakecgroup.scenario import play, read_scenario

_SCENARIOS = sorted((Path(__file__).parents[3] / "examples" / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize(
    "path", [path for path in _SCENARIOS if "\nexpect:" in path.read_text()], ids=lambda one: one.stem
)
def test_what_an_example_expects_happens(path: Path) -> None:
    outcome = play(read_scenario(path.read_text(), path.name))
    assert [(one.expectation.place, one.seen) for one in outcome.checked if not one.holds] == []
