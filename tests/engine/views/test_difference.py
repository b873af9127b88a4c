"""The changes by another configuration or kubelet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.views.difference import difference

NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--hugepages", "", "--swap", "0"]


@pytest.fixture
def rows(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., dict[tuple[str, str], tuple[Any, Any]]]:
    """The differences of a pod under other fields, as (whose, what) -> (from, to)."""

    def compare(pod: None = None, **fields: Any) -> dict[tuple[str, str], tuple[Any, Any]]:
        pods = [make_pod(make_container(requests={"cpu": "500m"}, limits={"cpu": "1", "memory": "1Gi"}), **(pod or {}))]
        old, new = ((node, wanted_tree(node, pods)) for node in (make_node(), make_node(**fields)))
        return {(row["for"], row["what"]): (row["from"], row["to"]) for row in difference(old, new)["differences"]}

    return compare


def test_the_same_is_no_difference(rows: Callable[..., dict[tuple[str, str], tuple[Any, Any]]]) -> None:
    assert rows() == {}


def test_a_limit_that_comes_is_shown_with_both_layouts_and_its_rule(
    rows: Callable[..., dict[tuple[str, str], tuple[Any, Any]]],
) -> None:
    [(key, (before, after))] = rows(podPidsLimit=100).items()
    assert key == ("default/p1", "pids")
    assert (before["v1"], after["v1"], after["v2"]) == ({"pids.max": "max"}, {"pids.max": "100"}, {"pids.max": "100"})
    assert after["rule"] == "podPidsLimit = 100 tasks"


def test_a_quota_that_goes_is_shown(rows: Callable[..., dict[tuple[str, str], tuple[Any, Any]]]) -> None:
    changed = rows(cpuCFSQuota=False)
    assert changed["default/p1", "quota"][1]["v2"] == {"cpu.max": "max 100000"}


def test_another_driver_moves_every_cgroup_and_a_scope_has_fewer_tasks(
    rows: Callable[..., dict[tuple[str, str], tuple[Any, Any]]],
) -> None:
    changed = rows(driver="systemd")
    assert {what for _, what in changed} == {"cgroup", "pids"}
    assert changed["Burstable", "cgroup"] == ("kubepods/burstable", "kubepods.slice/kubepods-burstable.slice")


def test_the_command_compares_configurations(tmp_path: Path, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nkubeReserved: {cpu: 500m}\n"
    )
    arguments = ["explain", *NODE, str(example / "three-pods.yaml"), "--diff", str(other)]
    assert main([*arguments, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(row["for"], row["what"]) for row in data["differences"]] == [("node", "shares")]
    assert main([*arguments, "-v"]) == 0
    head, v1, v2, *grouped = capsys.readouterr().out.splitlines()
    assert head.split() == ["FOR", "ON", "WHAT", "HERE", "THERE", "WHY"]
    assert (v1.split()[:5], v2.split()[:5]) == (
        ["node", "v1", "cpu.shares", "3072", "2560"],
        ["node", "v2", "cpu.weight", "118", "98"],
    )
    assert grouped[1].split() == ["CHANGE", "WHOSE", "GREATEST", "CHANGE", "TAKES", "EFFECT"]
    assert "cpu.weight falls on kubepods" in grouped[2]
    assert grouped[-1] == "1 values change: 1 at the kubelet's restart"


def test_the_command_compares_kubelets(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", *NODE, "--kubelet-version", "1.28", "--diff-kubelet-version", "1.36"]
    arguments += ["--diff-runtime-version", "1.3.3", "-v"]
    assert main([*arguments, str(example / "three-pods.yaml"), "pod-guaranteed-1"]) == 0
    out = capsys.readouterr().out
    assert "KUBELET 1.28  KUBELET 1.36" in out
    assert "pod-burstable" not in out


def test_a_configuration_that_the_other_kubelet_refuses_is_one_line(
    tmp_path: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "featureGates: {PodLevelResources: true}\n"
    )
    arguments = ["explain", *NODE, "--config", str(config), "--diff-kubelet-version", "1.28"]
    assert main([*arguments, str(example / "three-pods.yaml")]) == 1
    assert "PodLevelResources: a kubelet 1.28 does not know it yet" in capsys.readouterr().err


def test_another_kubelet_is_not_blamed_for_the_runtime(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", *NODE, "--kubelet-version", "1.34", str(example / "three-pods.yaml")]
    assert main([*arguments, "--diff-kubelet-version", "1.36", "-o", "json"]) == 0
    blamed = json.loads(capsys.readouterr().out)["differences"]
    assert not [row for row in blamed if row["what"] in ("shares", "weight")]
    assert main([*arguments, "--diff-runtime-version", "runc-1.3.3", "-o", "json"]) == 0
    changed = json.loads(capsys.readouterr().out)["differences"]
    assert changed
    for row in changed:
        assert row["from"]["v1"] == row["to"]["v1"]  # cpu.shares are the kubelet's
        assert row["from"]["v2"] != row["to"]["v2"]
        assert row["for"].count("/") == 2  # a container


def test_no_difference_is_said(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", *NODE, str(example / "three-pods.yaml"), "--diff-kubelet-version", "1.36"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "no difference\n"
