"""Versions and feature gates."""

from __future__ import annotations

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.model.kubelet_version import KubeletVersion, parse


@pytest.mark.parametrize(
    ("text", "minor"), [("1.24", 24), ("v1.28", 28), ("1.36.2", 36), ("1.37.0", 37), ("v1.32.10-gke.1", 32)]
)
def test_a_release_is_read(text: str, minor: int) -> None:
    assert parse(text).minor == minor


@pytest.mark.parametrize("text", ["1.23", "1.38", "2.0", "latest", "1.", "", "1.24x"])
def test_a_release_outside_the_range_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse(text)


@pytest.mark.parametrize(
    ("gate", "minor", "on"),
    [
        ("SidecarContainers", 27, False),
        ("SidecarContainers", 28, False),
        ("SidecarContainers", 29, True),
        ("PodLevelResources", 33, False),
        ("PodLevelResources", 34, True),
        ("CustomCPUCFSQuotaPeriod", 35, False),
        ("CustomCPUCFSQuotaPeriod", 36, True),
        ("QOSReserved", 36, False),
        ("NodeSwap", 27, False),
        ("NodeSwap", 29, False),
        ("NodeSwap", 30, True),
        ("DisableCPUQuotaWithExclusiveCPUs", 32, False),
        ("DisableCPUQuotaWithExclusiveCPUs", 33, True),
        ("CPUManager", 36, True),
        ("MemoryQoS", 36, False),
        ("MemoryQoS", 37, True),
        ("PodLevelResourceManagers", 37, False),
    ],
)
def test_a_gate_has_the_default_of_its_stage(gate: str, minor: int, on: bool) -> None:
    assert parse(f"1.{minor}").enabled(gate) is on


def test_the_release_is_the_newest_of_which_a_kubelet_was_asked_unless_another_is_given() -> None:
    assert str(KubeletVersion()) == "1.36"


def test_a_gate_can_be_set() -> None:
    assert parse("1.28", {"SidecarContainers": True}).enabled("SidecarContainers")


def test_a_gate_that_a_release_does_not_have_stays_off() -> None:
    assert not parse("1.27", {"SidecarContainers": True}).enabled("SidecarContainers")


def test_a_stable_gate_stays_on() -> None:
    assert parse("1.36", {"SidecarContainers": False}).enabled("SidecarContainers")


def test_all_alpha_turns_alpha_gates_on() -> None:
    assert parse("1.24", {"AllAlpha": True}).enabled("QOSReserved")


def test_all_beta_turns_on_a_beta_gate_that_is_off_by_default() -> None:
    assert parse("1.28", {"AllBeta": True}).enabled("NodeSwap")


def test_a_gate_that_is_set_is_not_moved_by_all_of_its_stage() -> None:
    assert not parse("1.24", {"AllAlpha": True, "QOSReserved": False}).enabled("QOSReserved")


def test_a_stable_gate_that_is_not_locked_can_be_turned_off() -> None:
    assert not parse("1.36", {"CustomCPUCFSQuotaPeriod": False}).enabled("CustomCPUCFSQuotaPeriod")
