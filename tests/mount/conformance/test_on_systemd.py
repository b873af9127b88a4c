"""`fakecgroup conformance --target host` on Debian's kernel and systemd in a virtual machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ...machine import answers_of, boots_a_machine

pytestmark = boots_a_machine


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """What the scenario printed: name of a step -> its exit code and output."""
    return answers_of(Path(__file__).with_name("machine_scenario.sh").read_text(), "v2")


@pytest.mark.parametrize("step", ["root", "user", "next"])
def test_the_kernel_answers_as_it_was_recorded(answers: dict[str, Any], step: str) -> None:
    families = json.loads(answers[step]["output"])["families"]
    assert [difference for family in families for difference in family["differences"]] == []
    assert answers[step]["code"] == 0
    compared = {family["family"]: family["operations"] for family in families}
    assert compared["freeze"] > 100
    assert compared["delegation"] > (300 if step != "user" else 50)


def test_what_is_not_compared_has_its_reasons(answers: dict[str, Any]) -> None:
    for step in ("root", "user"):
        for family in json.loads(answers[step]["output"])["families"]:
            assert sum(family["left_out"].values()) == family["not_compared"]
    (misc,) = (one for one in json.loads(answers["root"]["output"])["families"] if one["family"] == "rdma_misc")
    assert misc["left_out"]["the answer follows from controllers that are not delegated"] > 300


def test_a_user_without_a_bus_is_told_what_to_do_in_one_line(answers: dict[str, Any]) -> None:
    line = answers["without_bus"]["output"]
    assert line.startswith("fakecgroup conformance: no cgroup that user 1000 may make others in: ")
    assert "systemd-run --user --scope -p Delegate=yes" in line
    assert (line.count("\n"), answers["without_bus"]["code"]) == (1, 1)


def test_nothing_is_left(answers: dict[str, Any]) -> None:
    assert answers["left"]["output"] == "0\n"


@pytest.mark.hostile("a conformance run in a scope of systemd killed with SIGKILL")
def test_the_next_run_removes_what_a_killed_one_left(answers: dict[str, Any]) -> None:
    assert answers["left_after"]["output"] == "0\n"
