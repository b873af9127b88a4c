"""A diff that is read: grouped by rule and workload, with the time when each change takes effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main
from cgroup_engine.inputs.workload import workload_of
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.views.difference import difference
from cgroup_engine.views.takes_effect import takes_effect

NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--hugepages", "", "--swap", "0"]


@pytest.fixture
def compared(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    """The difference between two nodes with three pods of one Deployment, which request 100Mi, 200Mi and 300Mi."""

    def compare(here: NodeConfig | None = None, cpus: int = 4, **fields: Any) -> dict[str, Any]:
        requests = [{"memory": f"{n}00Mi", "cpu": "100m"} for n in (1, 2, 3)]
        pods = [
            replace(
                make_pod(make_container(requests=asked, limits={"memory": "400Mi"}), n=n), workload="Deployment/web"
            )
            for n, asked in enumerate(requests, 1)
        ]
        sides = [
            (node, wanted_tree(node, pods)) for node in (here or make_node(), replace(make_node(**fields), cpus=cpus))
        ]
        return difference(sides[0], sides[1])

    return compare


def by_rule(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["rule"]: finding for finding in data["findings"]}


def test_a_limit_that_appears_is_one_finding_with_its_workloads_and_the_tightest(
    compared: Callable[..., dict[str, Any]],
) -> None:
    found = by_rule(compared(featureGates={"MemoryQoS": True}))["container memory.high appears"]
    assert found["text"] == "memory.high appears on 3 containers, tightest 370Mi"  # 100Mi + 0.9 × 300Mi
    assert found["workloads"] == [{"workload": "default/Deployment/web", "cgroups": 3}]
    assert found["tightest"]["for"] == "default/p1/c"
    assert found["takes_effect"] == "new-container"


def test_a_zero_that_protects_nothing_is_no_finding(compared: Callable[..., dict[str, Any]]) -> None:
    data = compared(featureGates={"MemoryQoS": True})
    assert not [rule for rule in by_rule(data) if "memory.min" in rule]
    assert [row for row in data["differences"] if row["what"] == "memory_min"]


def test_1_37_with_a_factor_throttles_and_says_when(
    compared: Callable[..., dict[str, Any]], make_node: Callable[..., NodeConfig]
) -> None:
    """Rules of 1.37 from the pull requests: the gate is on, so a factor that 1.36 ignored throttles."""
    here = make_node(memoryThrottlingFactor=0.9)
    data = compared(here, minor=37, memoryThrottlingFactor=0.9)
    assert [data[side]["kubelet_version"] for side in ("from", "to")] == ["1.36", "1.37"]
    found = by_rule(data)
    assert list(found) == ["container memory.high appears"]
    assert found["container memory.high appears"]["takes_effect"] == "new-container"
    reserved = {
        "enforceNodeAllocatable": ["pods", "kube-reserved"],
        "kubeReserved": {"memory": "1Gi"},
        "kubeReservedCgroup": "/kube",
    }
    found = by_rule(compared(make_node(**reserved), minor=37, **reserved))
    assert {rule: each["takes_effect"] for rule, each in found.items()} == {
        "reserved memory.min appears": "restart",
    }


def test_a_limit_of_pods_takes_new_pods(compared: Callable[..., dict[str, Any]]) -> None:
    found = by_rule(compared(podPidsLimit=100))["pod pids.max appears"]
    assert (found["pods"], found["takes_effect"]) == (3, "new-pod")


@pytest.mark.parametrize(
    ("level", "what", "effect"),
    [
        ("node", "memory", "restart"),
        ("reserved", "shares", "restart"),
        ("node", "memory_min", "minute"),  # setMemoryQoS of the QoS manager
        ("qos", "shares", "minute"),
        ("pod", "quota", "new-pod"),  # EnsureExists does not write what is there
        ("container", "shares", "new-container"),
        ("container", "oom_score_adj", "new-container"),
    ],
)
def test_a_change_takes_effect_when_the_kubelet_or_the_runtime_writes_it(level: Any, what: str, effect: str) -> None:
    assert takes_effect(level, what) == effect


def test_cpu_under_load_is_compared_by_workload(compared: Callable[..., dict[str, Any]]) -> None:
    data = compared(cpus=2)
    assert data["reboot"]
    assert data["cpu_under_load"] == [{"workload": "default/Deployment/web", "pods": 3, "from": 4.0, "to": 2.0}]


def test_another_cgroup_version_renames_files_and_drops_those_it_has_not(
    compared: Callable[..., dict[str, Any]], make_node: Callable[..., NodeConfig]
) -> None:
    data = compared(replace(make_node(), cgroup_version=1))
    rules = by_rule(data)
    assert rules["container cpu.shares becomes cpu.weight"]["cgroups"] == 3
    assert rules["container memory.oom.group appears"]["cgroups"] == 3
    assert "node pids.max changes" not in rules


def test_the_command_groups_and_json_has_each_value(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", *NODE, str(example / "three-pods.yaml"), "--diff-config", "podPidsLimit=100"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "pids.max appears on 3 pods, tightest 100 tasks" in out
    assert "default/pod-guaranteed-1  v2" not in out
    assert out.splitlines()[-1] == "3 values change: 3 for new pods"
    assert main([*arguments, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["differences"]) == 3
    assert {"from", "to", "findings", "cpu_under_load", "differences", "reboot"} == set(data)


@pytest.mark.parametrize("text", ["podPidsLimit.x=1", "=1", "a..b=2", "podPidsLimit=[", "none.yaml"])
def test_a_field_that_cannot_be_replaced_is_one_line(
    text: str, example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodPidsLimit: 5\n")
    arguments = ["explain", *NODE, "--config", str(config), str(example / "three-pods.yaml"), "--diff", text]
    assert main(arguments) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_workload_is_the_controller_and_a_replica_set_stands_for_its_deployment() -> None:
    owner = {"kind": "ReplicaSet", "name": "web-7d9f", "controller": True}
    assert workload_of({"ownerReferences": [owner], "labels": {"pod-template-hash": "7d9f"}}) == "Deployment/web"
    assert workload_of({"ownerReferences": [owner]}) == "ReplicaSet/web-7d9f"
    assert workload_of({"ownerReferences": [{**owner, "controller": False}]}) == ""
    assert workload_of({"ownerReferences": [{"kind": "Node", "name": "n", "controller": True}]}) == ""
    assert workload_of({"ownerReferences": "x"}) == ""
