"""What the commands do where no kubelet would start, with and without --accept-invalid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cgroup_engine.cli import main

NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--hugepages", ""]
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture
def v1_root(tmp_path: Path) -> Path:
    """A directory that looks like an empty cgroup v1 root to a reader."""
    for name in ("cpu", "memory", "pids"):
        root = tmp_path / "cgroup" / name
        root.mkdir(parents=True)
        (root / "cgroup.procs").write_text("")
        (root / "tasks").write_text("")
    (tmp_path / "cgroup/cpu/cpu.shares").write_text("1024\n")
    (tmp_path / "cgroup/memory/memory.limit_in_bytes").write_text("9223372036854771712\n")
    return tmp_path / "cgroup"


@pytest.fixture
def pods(example: Path) -> str:
    return str(example / "three-pods.yaml")


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration that sets nothing."""
    (tmp_path / "kubelet.yaml").write_text(HEAD)
    return str(tmp_path / "kubelet.yaml")


def test_a_root_of_cgroup_v1_is_refused_from_1_35_on(
    v1_root: Path, pods: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plan", "--root", str(v1_root), *NODE, "--swap", "0", "--config", config, pods]
    assert main([*arguments, "--kubelet-version", "1.36"]) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert refused.err == (
        "cgroup-engine: a kubelet 1.36 does not start on cgroup v1 unless failCgroupV1 is false; "
        "change the configuration or --kubelet-version, or give --accept-invalid\n"
    )
    assert main([*arguments, "--kubelet-version", "1.34"]) == 0
    assert "does not start" not in capsys.readouterr().err


def test_accept_invalid_goes_on_with_one_warning(
    v1_root: Path, pods: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plan", "--root", str(v1_root), *NODE, "--swap", "0", pods, "--kubelet-version", "1.36"]
    assert main([*arguments, "--config", config, "--accept-invalid"]) == 0
    assert capsys.readouterr().err.count("warning: a kubelet 1.36 does not start on cgroup v1") == 1


def test_without_a_configuration_it_is_a_warning(v1_root: Path, pods: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--root", str(v1_root), *NODE, "--swap", "1Gi", pods]) == 0
    err = capsys.readouterr().err
    assert err.count("warning: a kubelet 1.36 does not start on cgroup v1") == 1
    assert err.count("failSwapOn: is true, and the machine has swap") == 1


def test_swap_is_refused_unless_the_configuration_allows_it(
    tmp_path: Path, pods: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", *NODE, "--swap", "1Gi", pods, "--config", config]
    assert main(arguments) == 1
    said = "failSwapOn: is true, and the machine has swap; set failSwapOn: false, or give --accept-invalid\n"
    assert capsys.readouterr().err.endswith(said)
    assert main([*arguments, "--accept-invalid"]) == 0
    (tmp_path / "kubelet.yaml").write_text(f"{HEAD}failSwapOn: false\n")
    assert main(arguments) == 0


def test_the_answer_of_configz_is_a_configuration(
    tmp_path: Path, pods: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "configz.json"
    config.write_text(json.dumps({"kubeletconfig": {"podPidsLimit": 77, "failSwapOn": False}}))
    assert main(["explain", *NODE, "--swap", "0", "--config", str(config), "-o", "json", pods]) == 0
    assert '"77"' in capsys.readouterr().out
