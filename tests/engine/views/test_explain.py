"""CPU under load, and explanations."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgroup_engine.inputs.config import feature_gates, node_config, read_config
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import parse
from cgroup_engine.model.pod import Pod
from cgroup_engine.views.cpu_under_load import cores_under_load, fair_parts
from cgroup_engine.views.explain import explanation


def _example(example: Path, name: str) -> tuple[dict[str, Any], NodeConfig, list[Pod]]:
    expected = json.loads((example / "expected.json").read_text())[name]
    fields, where = read_config(example / f"{name}.kubelet.yaml")
    version = parse(expected["kubelet_version"], feature_gates(fields, where))
    node = node_config(fields, where, version=version, cpus=expected["cpus"], memory=expected["memory"], max_pids=32768)
    return expected, node, read_pods([example / f"{name}.yaml"], version)


def test_every_container_of_the_first_example_gets_its_core(example: Path) -> None:
    expected, node, pods = _example(example, "three-pods")
    wanted = wanted_tree(node, pods)
    cores = cores_under_load(wanted, node.cpus)
    mine = {cgroup.container.name: cores[cgroup.path] for cgroup in wanted if cgroup.container is not None}
    for name, amount in expected["cpu_cores_under_load"].items():
        assert mine[name] == pytest.approx(amount, abs=0.01)


def test_oom_scores_of_the_first_example_are_as_published(example: Path) -> None:
    expected, node, pods = _example(example, "three-pods")
    mine = {
        f"{cgroup.pod.name}/{cgroup.container.name}": cgroup.oom_score_adj
        for cgroup in wanted_tree(node, pods)
        if cgroup.pod is not None and cgroup.container is not None
    }
    assert mine == expected["oom_score_adj"]


def test_what_one_cannot_use_goes_to_its_siblings() -> None:
    assert fair_parts(4.0, [(1, math.inf), (1, 0.5), (2, math.inf)]) == pytest.approx([3.5 / 3, 0.5, 7 / 3])


def test_more_cpus_than_anyone_can_use_are_left_over() -> None:
    assert fair_parts(8.0, [(1, 1.0), (5, 2.0)]) == [1.0, 2.0]


@settings(deadline=None)
@given(
    st.floats(0.1, 128),
    st.lists(st.tuples(st.integers(1, 262144), st.one_of(st.just(math.inf), st.floats(0, 64))), max_size=8),
)
def test_parts_are_fair(amount: float, takers: list[tuple[int, float]]) -> None:
    parts = fair_parts(amount, takers)
    assert all(part <= most * (1 + 1e-9) for part, (_, most) in zip(parts, takers, strict=True))
    assert math.fsum(parts) == pytest.approx(min(amount, math.fsum(most for _, most in takers)))
    hungry = [part / weight for part, (weight, most) in zip(parts, takers, strict=True) if part < most * (1 - 1e-9)]
    if hungry:
        assert max(hungry) == pytest.approx(min(hungry))


def test_an_explanation_names_class_values_and_rules(example: Path) -> None:
    _, node, pods = _example(example, "three-pods")
    data = explanation(node, wanted_tree(node, pods), pods[1])
    [pod] = data["pods"]
    assert pod["qos_class"] == "Burstable"
    assert pod["values"][0]["v1"] == {"cpu.shares": "2048"}
    assert "2000 × 1024 / 1000 = 2048 shares" in pod["values"][0]["rule"]
    assert [container["oom_score_adj"] for container in pod["containers"]] == [875, 875]


def test_a_pod_with_its_own_resources_explains_their_use(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container("a"), make_container("b"), resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    data = explanation(make_node(), wanted_tree(make_node(), [pod]))
    [entry] = data["pods"]
    assert entry["qos_class"] == "Guaranteed"
    quota = next(value for value in entry["containers"][0]["values"] if value["what"] == "quota")
    assert "the pod's limit cpu" in quota["rule"]


def test_explain_says_what_is_allocatable_and_what_the_node_reports_of_it(make_node: Callable[..., NodeConfig]) -> None:
    node = make_node(kubeReserved={"cpu": "500m", "memory": "1Gi"}, evictionHard={"memory.available": "512Mi"})
    explained = explanation(node, wanted_tree(node, []))["node"]
    assert explained["allocatable"] == {"cpu": "3500m", "memory": "7Gi", "pid": "32768"}
    assert explained["reported_allocatable"] == {"cpu": "3500m", "memory": "6656Mi"}
