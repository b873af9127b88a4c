"""The engine beside a real systemd, in a virtual machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ....machine import LAYOUTS, answers_of, boots_a_machine

SCRIPT = Path(__file__).with_name("scenario.sh")

pytestmark = boots_a_machine


@pytest.fixture(scope="module", params=LAYOUTS)
def answers(request: Any) -> Any:
    """The output of the scenario: name of a step -> its exit code and output."""
    return answers_of(SCRIPT.read_text(), request.param)


def test_slices_exist_with_their_values_as_properties(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["apply"]["code"] == 0
    assert "started 7 units" in answers["apply"]["output"]
    shown = answers["show node"]["output"]
    assert "ActiveState=active" in shown
    assert "TasksMax=32768" in shown
    assert "MemoryMax=8589934592" in shown or "MemoryLimit=8589934592" in shown
    shown = answers["show pod"]["output"]
    assert "CPUQuotaPerSecUSec=3s" in shown
    assert "MemoryMax=3221225472" in shown or "MemoryLimit=3221225472" in shown


def test_the_node_level_has_all_cpus_of_the_machine(answers: dict[str, dict[str, Any]]) -> None:
    assert "0-2" in answers["cpus"]["output"].splitlines()


def test_a_second_apply_does_nothing_even_after_systemd_has_read_its_units_again(
    answers: dict[str, dict[str, Any]],
) -> None:
    assert "nothing to do" in answers["again"]["output"]
    assert "nothing to do" in answers["after daemon-reload"]["output"]


def test_systemd_makes_no_scope_without_a_process(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["scope without a process"]["code"] != 0


def test_the_scope_of_a_runtime_gets_its_values(answers: dict[str, dict[str, Any]]) -> None:
    assert "set cri-containerd-" in answers["with a scope"]["output"]
    assert "nothing to do" in answers["with a scope again"]["output"]
    shown = answers["show scope"]["output"]
    assert "CPUQuotaPerSecUSec=1s" in shown
    assert "MemoryMax=1073741824" in shown or "MemoryLimit=1073741824" in shown


def test_down_refuses_while_a_process_lives_in_a_scope(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["down while busy"]["code"] == 1
    assert "lives in it; nothing was removed" in answers["down while busy"]["output"]


def test_a_value_that_was_changed_in_the_tree_is_set_back(answers: dict[str, dict[str, Any]]) -> None:
    assert "set fcg-kubepods.slice Memory" in answers["repair"]["output"]
    assert answers["repaired"]["output"] == "8589934592\n"


def test_a_pod_that_is_gone_is_stopped(answers: dict[str, dict[str, Any]]) -> None:
    assert "stop fcg-kubepods-burstable-pod" in answers["one pod"]["output"]
    assert answers["one pod"]["code"] == 0


def test_a_qos_class_is_limited_to_what_it_uses_if_v1_refuses_less(answers: dict[str, dict[str, Any]]) -> None:
    [limit] = re.findall(r"^Memory(?:Max|Limit)=([0-9]+)$", answers["show class"]["output"], re.MULTILINE)
    used = re.search(r"set fcg-kubepods-besteffort.slice MemoryLimit=([0-9]+)", answers["one pod"]["output"])
    assert int(limit) == (102 << 20 if used is None else int(used[1]))
    assert used is None or int(used[1]) > 200 << 20


def test_down_removes_units_and_directories(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["down"]["code"] == 0
    assert answers["left"]["output"] == ""
    assert "nothing to remove" in answers["down again"]["output"]


def test_single_cgroups_are_units_too(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["manager"]["output"].startswith(f"True {64 << 20} CgroupLimits(shares=2, quota_us=50000,")
    assert answers["left by the manager"]["output"] == ""


def test_without_the_bus_it_is_one_line(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["no bus"]["code"] == 1
    assert answers["no bus"]["output"].startswith("cgroup-engine: systemd cannot be reached over D-Bus: ")
    assert answers["no bus"]["output"].count("\n") == 1
