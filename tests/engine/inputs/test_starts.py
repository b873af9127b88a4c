"""Would a kubelet start with this configuration? Rows of answers of the compiled kubelet 1.36.2, and other releases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.config import node_config
from cgroup_engine.kubelet.cgroup_v1 import refused_on_v1
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.kubelet_version import KubeletVersion

from ..kubelet_tables import SAMPLES, Row, rows_of

ROWS = rows_of(SAMPLES / "starts.jsonl.gz")


def node_of(row: Row, *, accept_invalid: bool = False) -> NodeConfig:
    gates = row["config"].get("featureGates", {})
    return node_config(
        row["config"],
        "test",
        version=KubeletVersion(36, gates),
        cpus=row["cpus"],
        memory=row["memory"],
        max_pids=32768,
        swap_is_on=row.get("swap", False),
        accept_invalid=accept_invalid,
    )


def name_of(row: Row) -> str:
    return json.dumps(row["config"])[:100]


@pytest.mark.parametrize("row", [row for row in ROWS if row["where"] == ""], ids=name_of)
def test_a_configuration_with_which_the_kubelet_starts_is_taken(row: Row) -> None:
    node = node_of(row)
    assert not row["v1"] or refused_on_v1(node) == []


#: Refused by the kubelet, but a warning here: many published examples have a threshold of zero.
ZERO = [row for row in ROWS if row["answer"].endswith("must be positive: 0")]


@pytest.mark.parametrize("row", [row for row in ROWS if row["where"] != "" and row not in ZERO], ids=name_of)
def test_a_configuration_with_which_the_kubelet_does_not_start_is_refused(row: Row) -> None:
    try:
        node = node_of(row)
    except ConfigError:
        return
    assert row["v1"] and refused_on_v1(node)


@pytest.mark.parametrize(
    ("minor", "gates", "message"),
    [
        (31, {"PodLevelResources": True}, r"1.31 does not know it yet \(it came with 1.32\)"),
        (36, {"CPUManager": True}, r"1.36 does not have it any more \(since 1.33\)"),
        (36, {"MemoryQos": True}, r"does not know it \(MemoryQoS is meant\?\)"),
        (36, {"PodLevelResources": False}, "is on and needs PodLevelResources"),
        (36, {"NodeSwap": False}, "cannot be false in kubelet 1.36; leave it out"),
    ],
)
def test_a_refused_gate_is_told_with_its_releases(
    make_node: Callable[..., NodeConfig], minor: int, gates: dict[str, bool], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make_node(minor, featureGates=gates)


@pytest.mark.parametrize("minor", range(24, 37))
def test_a_name_of_no_gate_is_refused_by_every_release(make_node: Callable[..., NodeConfig], minor: int) -> None:
    with pytest.raises(ConfigError, match="does not know it; leave it out"):
        make_node(minor, featureGates={"NoSuchGate": True})


@pytest.mark.parametrize("gates", [{"PodLevelResources": False}, {"InPlacePodVerticalScaling": True}])
def test_kubelets_before_1_35_do_not_ask_for_needed_gates(
    make_node: Callable[..., NodeConfig], gates: dict[str, Any]
) -> None:
    assert make_node(34, featureGates=gates).warnings == ()


@pytest.mark.parametrize("gates", [{"NoSuchGate": True}, {"PodOverhead": True}, {"NodeSwap": False}])
def test_with_accept_invalid_a_refused_gate_is_a_warning(gates: dict[str, bool]) -> None:
    row: Row = {"config": {"featureGates": gates}, "cpus": 4, "memory": 8 << 30}
    (warning,) = node_of(row, accept_invalid=True).warnings
    assert warning.startswith(f"test: featureGates.{next(iter(gates))}: ")
    assert warning.endswith("; a kubelet does not start, this goes on")


@pytest.mark.parametrize(
    ("minor", "fields", "message"),
    [
        (36, {"cpuManagerPolicy": "static"}, "cpuManagerPolicy: static needs reserved CPUs; give reservedSystemCPUs"),
        (36, {"maxPods": -1}, 'maxPods: "-1" is not a whole number from 0 to'),
        (36, {"evictionHard": {"memory.avail": "1Gi"}}, 'evictionHard: "memory.avail" is not known; use some of'),
        (
            36,
            {"memoryManagerPolicy": "Static", "systemReserved": {"memory": "1Gi"}},
            "reservedMemory: has 0 of memory in sum, and kubeReserved, systemReserved and evictionHard keep 1Gi",
        ),
    ],
)
def test_a_refusal_says_what_to_do(
    make_node: Callable[..., NodeConfig], minor: int, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_node(minor, **fields)


@pytest.mark.parametrize("row", ZERO, ids=name_of)
def test_a_threshold_of_zero_is_taken_as_none_with_a_warning(row: Row) -> None:
    (warning,) = node_of(row).warnings
    assert '"0" is not above zero, and a kubelet does not start with it; taken as none' in warning


OPTIONS = [  # option, level by release (policy_options.go of each release)
    ("cpuManagerPolicyOptions", "full-pcpus-only", {24: "Beta", 33: ""}),
    ("cpuManagerPolicyOptions", "distribute-cpus-across-numa", {24: "Alpha", 33: "Beta"}),
    ("cpuManagerPolicyOptions", "align-by-socket", {24: None, 25: "Alpha"}),
    ("cpuManagerPolicyOptions", "strict-cpu-reservation", {24: None, 32: "Alpha", 33: "Beta", 35: ""}),
    ("topologyManagerPolicyOptions", "prefer-closest-numa-nodes", {26: "Alpha", 28: "Beta", 32: ""}),
]


@pytest.mark.parametrize(
    ("field", "option", "levels", "minor"),
    [(*option, minor) for option in OPTIONS for minor in range(26 if option[0].startswith("topology") else 24, 37)],
)
def test_an_option_needs_the_gate_of_its_level(
    make_node: Callable[..., NodeConfig], field: str, option: str, levels: dict[int, str | None], minor: int
) -> None:
    level = [level for since, level in levels.items() if since <= minor][-1]
    fields = {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "best-effort",
        "reservedSystemCPUs": "0",
        field: {option: "true"},
    }
    gates: dict[str, bool] = {}
    if field.startswith("topology") and minor < 28:
        gates["TopologyManagerPolicyOptions"] = True  # alpha in 1.26 and 1.27
    if level is None:
        with pytest.raises(ConfigError, match="does not know this option"):
            make_node(minor, featureGates=gates, **fields)
    elif level:
        gate = f"{field[0].upper()}{field[1:]}".replace("CpuM", "CPUM").replace("Options", f"{level}Options")
        with pytest.raises(ConfigError, match=f"set featureGates.{gate}: true"):
            make_node(minor, featureGates={**gates, gate: False}, **fields)
        make_node(minor, featureGates={**gates, gate: True}, **fields)
    else:
        make_node(minor, featureGates=gates, **fields)


@pytest.mark.parametrize(("minor", "reasons"), [(30, 0), (31, 0), (34, 0), (35, 1), (36, 1)])
def test_cgroup_v1_is_refused_by_default_since_1_35(
    make_node: Callable[..., NodeConfig], minor: int, reasons: int
) -> None:
    assert len(refused_on_v1(make_node(minor))) == reasons


@pytest.mark.parametrize(("minor", "reasons"), [(27, 0), (28, 1), (33, 1)])
def test_limited_swap_on_cgroup_v1_is_refused_since_1_28(
    make_node: Callable[..., NodeConfig], minor: int, reasons: int
) -> None:
    node = make_node(minor, featureGates={"NodeSwap": True}, memorySwap={"swapBehavior": "LimitedSwap"})
    assert len(refused_on_v1(node)) == reasons


def test_with_accept_invalid_a_refusal_is_a_warning_unless_the_value_cannot_be_used() -> None:
    warned = 0
    for row in [row for row in ROWS if row not in ZERO]:
        try:
            warnings = node_of(row, accept_invalid=True).warnings
        except ConfigError as refused:
            assert row["where"], refused
            continue
        told = [warning for warning in warnings if warning.endswith("a kubelet does not start, this goes on")]
        assert row["v1"] or bool(told) == bool(row["where"]), row
        warned += bool(told)
    assert warned > 80


@pytest.mark.hostile("names of feature gates with control characters, an empty one and a long one")
@pytest.mark.parametrize("name", ["a\x07b", "", "x" * 5000, "\u202egate"])
def test_a_strange_name_of_a_gate_is_one_short_line(make_node: Callable[..., NodeConfig], name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_node(featureGates={name: True})
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("value", [True, -1, 10**30, "110", 1.5])
def test_a_number_of_pods_that_is_none_counts_as_the_default(value: object) -> None:
    row: Row = {"config": {"maxPods": value, "podsPerCore": -3}, "cpus": 4, "memory": 8 << 30}
    assert node_of(row, accept_invalid=True).max_pods in (110, 10**30)
