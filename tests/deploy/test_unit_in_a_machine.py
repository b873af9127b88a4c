"""The systemd unit under a real systemd, in a virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..machine import LAYOUTS, answers_of, boots_a_machine

HERE = Path(__file__)
UNIT = HERE.parents[2] / "deploy" / "systemd" / "cgroup-engine.service"
INSTALLED = "ExecStart=/opt/cgroup-engine/bin/"
# where the machine has the engine; it has no targets to wait for
THERE = "Environment=PYTHONPATH=/opt/python PYTHONDONTWRITEBYTECODE=1\nExecStart=/opt/bin/"
UNITS = "/etc/systemd/system"

pytestmark = boots_a_machine


@pytest.fixture(scope="module", params=LAYOUTS)
def answers(request: Any) -> Any:
    """What the scenario printed: name of a step -> its exit code and output."""
    text = UNIT.read_text().replace(INSTALLED, THERE).replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\n")
    scenario = HERE.with_name("unit_scenario.sh").read_text()
    return answers_of(f"cat >{UNITS}/{UNIT.name} <<'UNIT'\n{text}UNIT\n{scenario}", request.param)


def test_it_starts_and_is_ready(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["start"]["code"] == 0
    assert answers["status"]["output"] == "3 pods: as wanted\n"
    assert answers["ready"]["output"].startswith("ok: ")


def test_it_makes_the_tree_in_spite_of_its_hardening(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["pods"]["output"] == "3\n"
    assert answers["mode"]["output"] == "755\n"
    assert "error failed" not in answers["journal"]["output"]


def test_it_repairs_drift_and_names_who_did_it(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["repair"]["code"] == 0
    assert "found 77, by bash (pid " in answers["journal"]["output"]


def test_a_stop_leaves_the_tree_in_force(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["stop"]["code"] == 0
    assert answers["result"]["output"] == "success\n"
    assert answers["pods after the stop"]["output"] == "3\n"
    assert "SIGTERM: the tree stays as it is" in answers["journal"]["output"]
