"""Which of the pods in files are on the node: spec.nodeName, --node-name, and standard input."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main
from cgroup_engine.errors import PodError
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.inputs.whose_pods import check_node_name, of_node, unscheduled_note
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.files import pod_source

NEW = KubeletVersion()
EXPLAIN = ["explain", "--cpus", "4", "--memory", "8Gi", "-o", "json"]


@pytest.fixture
def listed(make_object: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A pod as an API server lists it, on a node or on none."""

    def make(n: int, node: str = "") -> dict[str, Any]:
        item = make_object(n=n, **({"nodeName": node} if node else {}))
        item["metadata"]["resourceVersion"] = str(n)
        return item

    return make


@pytest.fixture
def read(listed: Callable[..., dict[str, Any]], make_object: Callable[..., dict[str, Any]]) -> Callable[..., list[Pod]]:
    """Pods on nodes; "" is not scheduled yet, and None is a manifest."""

    def pods(*nodes: str | None) -> list[Pod]:
        items = [make_object(n=n) if node is None else listed(n, node) for n, node in enumerate(nodes)]
        return [pod_from_object(item, "pods.json", NEW) for item in items]

    return pods


def _names(pods: list[Pod]) -> list[str]:
    return [pod.name for pod in pods]


def test_the_pods_of_the_only_node_count(read: Callable[..., list[Pod]]) -> None:
    assert _names(of_node(read("n1", "n1"), None)) == ["p0", "p1"]


def test_the_pods_of_several_nodes_are_refused_and_the_nodes_named(read: Callable[..., list[Pod]]) -> None:
    with pytest.raises(PodError, match=r"pods\.json: the pods are on 3 nodes: n1, n2, n3; choose one with --node-name"):
        of_node(read("n2", "n1", "n3", "n1"), None, "pods.json")


def test_the_named_nodes_pods_and_the_manifests_count(read: Callable[..., list[Pod]]) -> None:
    assert _names(of_node(read("n1", "n2", None, "n1"), "n1")) == ["p0", "p2", "p3"]


def test_pods_that_are_not_scheduled_are_left_out_and_counted(read: Callable[..., list[Pod]]) -> None:
    pods = read("", "n1", "", None)
    assert _names(of_node(pods, None)) == ["p1", "p3"]
    assert unscheduled_note(pods) == "2 pods are not scheduled to a node yet, and left out"


def test_a_node_without_a_pod_is_refused_with_the_nodes_that_have_some(read: Callable[..., list[Pod]]) -> None:
    with pytest.raises(PodError, match='no pod is on node "n9", but on n1, n2; correct --node-name'):
        check_node_name(read("n1", "n2"), "n9")


def test_commands_take_one_node_of_a_cluster_from_standard_input(
    listed: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = {"apiVersion": "v1", "kind": "List", "items": [listed(1, "n1"), listed(2, "n2"), listed(3)]}
    text = json.dumps(cluster).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main([*EXPLAIN, "-"]) == 1
    assert capsys.readouterr().err == ("cgroup-engine: the pods are on 2 nodes: n1, n2; choose one with --node-name\n")
    assert main([*EXPLAIN, "--node-name", "n2", "-"]) == 0
    out, err = capsys.readouterr()
    assert [pod["pod"] for pod in json.loads(out)["pods"]] == ["default/p2"]
    assert "1 pod is not scheduled to a node yet, and left out" in err


def test_two_kubelets_are_told_apart_by_pods_from_standard_input_and_each_warning_is_told_once(
    listed: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps({"kind": "List", "items": [listed(1, "n1"), {"kind": "Node"}]}).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    old = ["--kubelet-version", "1.31", "--diff-kubelet-version", "1.36"]
    assert main([*EXPLAIN, *old, "-"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(out)[side]["kubelet_version"] for side in ("from", "to")] == ["1.31", "1.36"]
    assert err == "cgroup-engine: warning: -: 1 object is no pod, and left out: 1 Node\n"


def test_standard_input_cannot_be_followed() -> None:
    with pytest.raises(PodError, match="-: standard input cannot be followed"):
        pod_source([Path("-")], NEW)


def test_a_followed_file_keeps_to_the_node(tmp_path: Path, listed: Callable[..., dict[str, Any]]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(listed(1, "n1")))
    (tmp_path / "b.json").write_text(json.dumps({"kind": "List", "items": [listed(2, "n1"), listed(3, "n2")]}))
    source = pod_source([tmp_path], NEW, node_name="n1")
    try:
        assert _names(list(source.look().pods or ())) == ["p1", "p2"]
    finally:
        source.close()


def test_a_followed_file_of_another_node_is_not_in_force(tmp_path: Path, listed: Callable[..., dict[str, Any]]) -> None:
    for n, node in enumerate(("n1", "n2")):
        (tmp_path / f"{n}.json").write_text(json.dumps(listed(n, node)))
    source = pod_source([tmp_path], NEW)
    try:
        assert _names(list(source.look().pods or ())) == ["p0"]
    finally:
        source.close()
