"""`cgroup-engine fleet --live`: the same as of a dump, asked of an API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.whole_cluster import cluster
from cgroup_engine.cli import main
from cgroup_engine.sources import cluster_api

from ..cluster_server import ClusterServer
from .conftest import node_object, pod_object

DUMP = json.loads("".join(cluster(12, 6)))
NODES, PODS = ([item for item in DUMP["items"] if item["kind"] == kind] for kind in ("Node", "Pod"))
CHANGE = ("--diff-kubelet-version", "1.37", "--workers", "1", "-o", "json")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[ClusterServer]:
    server = ClusterServer(tmp_path, NODES, PODS)
    yield server
    server.close()


@pytest.fixture(autouse=True)
def pages_of_seven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_api, "_PAGE", 7)


def ask(live: ClusterServer, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    status = main(["fleet", "--live", "--kubeconfig", str(live.kubeconfig()), "-o", "json", *more])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, data


def of_dump(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, dict[str, Any]]:
    path.write_text(json.dumps(DUMP))
    status = main(["fleet", str(path), *CHANGE])
    return status, json.loads(capsys.readouterr().out)


def test_a_cluster_that_runs_has_the_findings_of_its_dump(
    live: ClusterServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ask(live, capsys, *CHANGE) == of_dump(capsys, tmp_path / "dump.json")
    assert live.requests.count("/api/v1/pods") == -(-len(PODS) // 7)


def test_a_list_that_becomes_too_old_goes_on(
    live: ClusterServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    live.expire = {7, 28}
    assert ask(live, capsys, *CHANGE) == of_dump(capsys, tmp_path / "dump.json")


def test_who_may_not_list_pods_is_told_what_it_takes(live: ClusterServer, capsys: pytest.CaptureFixture[str]) -> None:
    live.forbidden = ("/api/v1/pods",)
    assert main(["fleet", "--live", "--kubeconfig", str(live.kubeconfig())]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "get and list nodes and pods" in said


def test_each_kubelet_tells_its_configuration(live: ClusterServer, capsys: pytest.CaptureFixture[str]) -> None:
    live.nodes, live.pods = [node_object()], [pod_object(1, limits={"memory": "1Gi"}, requests={"memory": "1Mi"})]
    live.kubelets["n1"] = {"kubeletconfig": {"featureGates": {"Nonsense": True}}}
    assert not rules(ask(live, capsys)[1]) & {"feature-gate"}
    assert rules(ask(live, capsys, "--configz")[1]) >= {"feature-gate"}


def test_a_kubelet_that_tells_no_configuration_is_a_line(
    live: ClusterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["fleet", "--live", "--configz", "--kubeconfig", str(live.kubeconfig())])
    assert f"left out: the configuration of {len(NODES)} nodes, such as" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "give DUMP, or --live"),
        (("--live", "dump.json"), "exclude each other"),
        (("--configz", "dump.json"), "go with --live"),
    ],
)
def test_either_a_dump_or_a_cluster_that_runs(
    given: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", *given]) == 2
    assert said in capsys.readouterr().err


def test_a_kubeconfig_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "--live", "--kubeconfig", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def rules(data: dict[str, Any]) -> set[str]:
    return {finding["rule"] for finding in data["findings"]}
