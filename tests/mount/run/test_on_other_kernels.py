"""`fakecgroup run` on another kernel than this machine's, as a plain user, in a virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ...machine import answers_of, boots_a_machine

pytestmark = boots_a_machine


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """What the scenario printed: name of a step -> its exit code and output."""
    return answers_of(Path(__file__).with_name("machine_scenario.sh").read_text(), "v2")


def test_a_program_finds_cgroup_v2_and_can_kill_itself_by_it(answers: dict[str, Any]) -> None:
    assert answers["v2"]["output"].splitlines() == ["63677270", "77", "0::/app"]
    assert answers["v2"]["code"] == 128 + 9


def test_a_program_finds_cgroup_v1_and_stops_another(answers: dict[str, Any]) -> None:
    shown = answers["v1"]["output"].splitlines()
    assert shown == ["1021994", "27e0eb", "7:freezer:/app", "stopped"]
    assert answers["v1"]["code"] == 3


def test_nothing_is_left(answers: dict[str, Any]) -> None:
    assert answers["left"]["output"] == "0\n"
