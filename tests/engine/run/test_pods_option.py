"""The commands with --pods apiserver instead of files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main

from .api_server import NODE, ApiServer

ASKED = ["--cpus", "4", "--memory", "8Gi", "--pods", "apiserver", "--node-name", NODE]


@pytest.fixture
def server(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> Iterator[ApiServer]:
    server = ApiServer(tmp_path)
    for n in (1, 2):
        server.put(make_object(n=n, nodeName=NODE))
    yield server
    server.stop()


def test_pods_of_an_api_server_are_explained(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *ASKED, "--kubeconfig", str(server.kubeconfig()), "-o", "json"]) == 0
    assert [pod["pod"] for pod in json.loads(capsys.readouterr().out)["pods"]] == ["default/p1", "default/p2"]


def test_one_pod_of_an_api_server_is_explained(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *ASKED, "--kubeconfig", str(server.kubeconfig()), "-o", "json", "p2"]) == 0
    assert [pod["pod"] for pod in json.loads(capsys.readouterr().out)["pods"]] == ["default/p2"]


def test_an_api_server_that_refuses_is_one_line(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *ASKED, "--kubeconfig", str(server.kubeconfig(token="x"))]) == 1
    refused = '401 Unauthorized: "Unauthorized"; give credentials that it accepts'
    assert capsys.readouterr().err == f"cgroup-engine: {server.host}: {refused}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pods", "apiserver", "pods.yaml"], "PODS and --pods apiserver exclude each other"),
        (["--kubeconfig", "k", "pods.yaml"], "--kubeconfig goes with --pods apiserver"),
        ([], "the following arguments are required: PODS, or --pods apiserver"),
        (["--pods", "kubelet"], "invalid choice"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "apply", "status", "run"])
def test_pods_come_from_one_place(
    command: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([command, "--root", str(tmp_path), *arguments]) == 2
    assert message in capsys.readouterr().err
