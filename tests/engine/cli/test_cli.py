"""The command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cgroup_engine.cli import main

NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768"]


@pytest.fixture
def v2_root(tmp_path: Path) -> Path:
    """A directory that looks like an empty cgroup v2 root to a reader."""
    root = tmp_path / "cgroup"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpu memory pids\n")
    (root / "cgroup.subtree_control").write_text("\n")
    (root / "cgroup.procs").write_text("")
    return root


def test_plan_prints_json_in_order(v2_root: Path, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--root", str(v2_root), *NODE, "-o", "json", str(example / "three-pods.yaml")]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["layout"] == "v2"
    assert plan["steps"][0] == {
        "step": 1,
        "do": "write",
        "path": "cgroup.subtree_control",
        "why": "children get all controllers of the root",
        "value": "+cpu +memory +pids",
        "before": "",
        "unit": "controllers",
        "for": "cgroup root",
    }
    values = {step["path"]: step["value"] for step in plan["steps"] if step["do"] == "write"}
    assert values["kubepods/memory.max"] == "8589934592"
    assert values["kubepods/cpu.weight"] == "118"
    assert plan["oom_score_adj"]["default/pod-burstable-1/container1"] == 875


def test_yaml_and_json_say_the_same(v2_root: Path, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for output in ("json", "yaml"):
        main(["plan", "--root", str(v2_root), *NODE, "-o", output, str(example / "three-pods.yaml")])
        outputs.append(capsys.readouterr().out)
    assert json.loads(outputs[0]) == yaml.safe_load(outputs[1])


def test_tables_have_units_and_no_colour_in_a_pipe(
    v2_root: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", "--root", str(v2_root), *NODE, str(example / "three-pods.yaml")])
    out = capsys.readouterr().out
    assert "8589934592 bytes (8Gi)" in out
    assert "118 weight" in out
    assert "\x1b" not in out


def test_explain_takes_the_name_of_a_pod(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = str(example / "three-pods.yaml")
    assert main(["explain", *NODE, pods, "pod-burstable-1"]) == 0
    out = capsys.readouterr().out
    assert "Burstable" in out
    assert "oom_score_adj 875" in out
    assert "pod-guaranteed-1" not in out


def test_explain_of_a_pod_that_is_not_there_is_one_line(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *NODE, str(example / "three-pods.yaml"), "nobody"]) == 1
    assert capsys.readouterr().err == "cgroup-engine: nobody: is neither a file nor a pod in the given files\n"


def test_status_of_an_empty_root_marks_what_is_missing(
    v2_root: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--root", str(v2_root), *NODE, "-o", "json", str(example / "three-pods.yaml")]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["drift"] is True
    assert {row["state"] for row in status["files"]} == {"missing"}


def test_status_with_check_is_exit_code_1_if_anything_differs(
    v2_root: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--check", "--root", str(v2_root), *NODE, str(example / "three-pods.yaml")]) == 1
    assert "differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ("kind: [", ["bad.yaml", "is not YAML"]),
        ("kind: Deployment\napiVersion: apps/v1\n", ["bad.yaml", "Deployment", "is not a Pod"]),
        ("just text", ["bad.yaml", "is not a Pod object"]),
    ],
)
def test_bad_pods_are_one_line_and_nothing_is_written(
    v2_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], pods: str, words: list[str]
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(pods)
    before = sorted(v2_root.rglob("*"))
    assert main(["apply", "--root", str(v2_root), *NODE, str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert all(word in captured.err for word in words)
    assert sorted(v2_root.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["plan", "pods.yaml"],
        ["plan", "--root", "/"],
        ["explain", "--kubelet-version", "1.99", "pods.yaml"],
        ["explain", "--cpus", "0", "pods.yaml"],
        ["explain", "--cpus", "-3", "pods.yaml"],
        ["explain", "--memory", "lots", "pods.yaml"],
        ["explain", "--driver", "x", "pods.yaml"],
        ["explain", "-o", "xml", "pods.yaml"],
    ],
)
def test_a_wrong_command_line_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_help_is_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", "--help"]) == 0
    assert "cgroupRoot" in capsys.readouterr().out


def test_a_root_that_is_none_is_one_line(tmp_path: Path, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--root", str(tmp_path / "none"), *NODE, str(example / "three-pods.yaml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_directory_that_is_no_cgroup_tree_is_refused(
    tmp_path: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apply", "--root", str(tmp_path), *NODE, str(example / "three-pods.yaml")]) == 1
    assert "is no cgroup tree" in capsys.readouterr().err


def test_a_field_that_is_not_acted_on_is_warned_of_on_stderr(
    tmp_path: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
        "kubeReserved: {cpu: 100m}\n"
    )
    assert main(["explain", *NODE, "--config", str(config), str(example / "three-pods.yaml")]) == 0
    assert "cpuManagerPolicy: is not acted on without --cpu-manager-state" in capsys.readouterr().err


def test_the_node_defaults_to_this_machine(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-o", "json", str(example / "three-pods.yaml")]) == 0
    assert json.loads(capsys.readouterr().out)["node"]["memory_bytes"] > 0


def test_sizes_of_huge_pages_are_read(v2_root: Path, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", "--root", str(v2_root), *NODE, str(example / "three-pods.yaml"), "--hugepages"]
    assert main([*arguments, "2Mi=64,1Gi=0"]) == 0
    for wrong in ("2Mi", "3Mi=1", "2Mi=x", "2Mi=1,,"):
        assert main([*arguments, wrong]) == 2
        assert "Traceback" not in capsys.readouterr().err


def test_an_amount_that_overflows_is_warned_of_and_limits_nothing(
    v2_root: Path,
    tmp_path: Path,
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    huge = {"memory": "10E", "cpu": "1"}
    pods = tmp_path / "pods.json"
    pods.write_text(json.dumps(make_object(make_container(requests=huge, limits=huge))))
    assert main(["plan", "--root", str(v2_root), *NODE, "-o", "json", str(pods)]) == 0
    captured = capsys.readouterr()
    assert captured.err.count('a kubelet\'s 64 bits take "10E" for 0') == 2
    limited = [step["path"] for step in json.loads(captured.out)["steps"] if step["path"].endswith("memory.max")]
    assert limited == ["kubepods/memory.max"]
