"""The table of the feature gates that kubelets know."""

from __future__ import annotations

import pytest

from cgroup_engine.model.known_gates import NEWEST_KNOWN, gate_states, needed_gates, releases_of
from cgroup_engine.model.kubelet_version import GATES, OLDEST

from ..kubelet_tables import SAMPLES, rows_of


def state_of(*, stage: str, on: bool, locked: bool) -> str:
    return stage + ("+" if on else "-") + ("!" if locked else "")


def test_the_gates_of_1_36_are_those_of_the_compiled_kubelet() -> None:
    stages = {"ALPHA": "alpha", "BETA": "beta", "": "ga", "DEPRECATED": "deprecated"}
    compiled = {
        row["gate"]: state_of(stage=stages[row["stage"]], on=row["on"], locked=row["locked"])
        for row in rows_of(SAMPLES / "gates.jsonl.gz")
    }
    assert len(compiled) > 240
    assert gate_states(36) == compiled


@pytest.mark.parametrize("minor", range(OLDEST, NEWEST_KNOWN + 1))
def test_the_gates_that_rules_ask_for_have_the_tables_states(minor: int) -> None:
    modelled, known = {}, {}
    for name, changes in GATES.items():
        gates = [gate for since, gate in changes.items() if since <= minor]
        if gates and gates[-1].stage != "removed":
            modelled[name] = state_of(stage=gates[-1].stage, on=gates[-1].on, locked=gates[-1].locked)
        if name in gate_states(minor):
            known[name] = gate_states(minor)[name]
    assert modelled == known


def test_a_gate_has_its_first_release_and_the_one_without_it() -> None:
    assert releases_of("CPUManager") == (24, 33)
    assert releases_of("PodLevelResources") == (32, None)
    assert releases_of("NoSuchGate") is None


def test_gates_need_others_from_1_35_on() -> None:
    assert needed_gates(34) == {}
    assert "PodLevelResources" in needed_gates(35)["InPlacePodLevelResourcesVerticalScaling"]
    assert "InPlacePodVerticalScalingAllocatedStatus" not in needed_gates(36)
