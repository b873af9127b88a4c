"""`cgroup-engine fleet`: findings by rule, in whatever way the nodes are looked at."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.whole_cluster import cluster
from cgroup_engine.cli import main

from ...chromium import drawn
from ...waiting import wait_until
from .conftest import node_object, pod_object

EXAMPLE = Path(__file__).parents[3] / "examples" / "fleet"
ASKED = (str(EXAMPLE / "nodes-pods.json.gz"), "--configs", str(EXAMPLE / "configs"), "--diff-kubelet-version", "1.37")
DumpOf = Callable[..., Path]


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    """The exit status, and the JSON."""
    status = main(["fleet", *map(str, arguments), "-o", "json"])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, data


def rules(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["rule"]: finding for finding in data["findings"]}


def test_the_example_has_the_expected_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLE)
    given = "nodes-pods.json.gz", "--configs", "configs", "--diff-kubelet-version", "1.37"
    assert asked(capsys, *given) == (1, json.loads((EXAMPLE / "expected.json").read_text()))


def test_a_healthy_cluster_has_no_findings(capsys: pytest.CaptureFixture[str], dump_of: DumpOf) -> None:
    status, data = asked(capsys, dump_of(node_object(), pod_object(1)))
    assert (status, data["findings"], data["errors"]) == (0, [], [])
    assert data["nodes"] == [{"name": "n1", "findings": [], "error": None}]


def test_more_than_is_allocatable_is_found(capsys: pytest.CaptureFixture[str], dump_of: DumpOf) -> None:
    pods = [pod_object(number, requests={"cpu": "3"}) for number in range(2)]
    status, data = asked(capsys, dump_of(node_object(), *pods))
    found = rules(data)["over-allocatable-cpu"]
    assert (status, found["nodes"], found["pods"]) == (1, 1, 2)
    assert found["worst"] == {"from": "4000", "to": "6000", "for": "n1"}


def test_another_allocatable_than_the_configuration_gives_is_found(
    capsys: pytest.CaptureFixture[str], dump_of: DumpOf
) -> None:
    _, data = asked(capsys, dump_of(node_object(allocatable={"memory": "7Gi"})))
    assert rules(data)["reported-memory-differs"]["worst"] == {"from": "7.9Gi", "to": "7Gi", "for": "n1"}


@pytest.mark.parametrize(
    ("node", "change", "rule"),
    [
        ({"info": {"swap": {"capacity": 1 << 30}}}, (), "swap"),
        ({"info": {"osImage": "Amazon Linux 2"}}, ("--diff-kubelet-version", "1.35"), "cgroup-v1"),
        ({}, ("--diff-config", "featureGates.Nonsense=true"), "feature-gate"),
        ({}, ("--diff-config", "kubeReserved={memory: 9Gi}"), "reserved"),
        ({}, ("--diff-config", "cgroupsPerQOS=false"), "would-not-start"),
    ],
)
def test_a_kubelet_that_would_not_start_is_found(
    capsys: pytest.CaptureFixture[str], dump_of: DumpOf, node: dict[str, Any], change: tuple[str, ...], rule: str
) -> None:
    status, data = asked(capsys, dump_of(node_object(**node), pod_object(1)), *change)
    found = rules(data)[rule]
    assert (status, found["nodes"], found["takesEffect"]) == (1, 1, "restart")
    assert found["reasons"][0]["nodes"] == 1


def test_a_limit_below_what_is_used_is_found(
    capsys: pytest.CaptureFixture[str], dump_of: DumpOf, tmp_path: Path
) -> None:
    (tmp_path / "top").write_text("NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\ndefault p1 c 5m 190Mi\n")
    dump = dump_of(node_object(), pod_object(1, requests={"memory": "100Mi"}, limits={"memory": "200Mi"}))
    change = ("--diff-config", "featureGates.MemoryQoS=true", "--diff-config", "memoryThrottlingFactor=0.8")
    _, data = asked(capsys, dump, "--usage", tmp_path / "top", *change)
    found = rules(data)
    assert found["memory-high-below-use"]["worst"] == {"from": "190Mi", "to": "180Mi", "for": "default/p1/c on n1"}
    assert found["container-memory.high-appears"]["takesEffect"] == "new-container"
    assert found["container-memory.high-appears"]["tightest"]["value"] == str(180 << 20)


def test_prometheus_tells_what_is_used_too(capsys: pytest.CaptureFixture[str], dump_of: DumpOf, tmp_path: Path) -> None:
    row = {"metric": {"namespace": "default", "pod": "p1", "container": "c"}, "value": [0, str(300 << 20)]}
    (tmp_path / "answer").write_text(json.dumps({"data": {"result": [row]}}))
    dump = dump_of(node_object(), pod_object(1, limits={"memory": "200Mi"}))
    _, data = asked(capsys, dump, "--usage", tmp_path / "answer")
    assert rules(data)["memory-max-below-use"]["containers"] == 1


def test_cpu_under_load_that_changes_is_found(capsys: pytest.CaptureFixture[str], dump_of: DumpOf) -> None:
    pods = [pod_object(1, requests={"cpu": "2"}), pod_object(2, requests={"cpu": "10m"}), pod_object(3)]
    _, data = asked(capsys, dump_of(node_object(), *pods), "--diff-cgroup-version", "1")
    assert {"cpu-under-load-falls", "cpu-under-load-rises"} & rules(data).keys()


def test_less_that_is_allocatable_is_found(capsys: pytest.CaptureFixture[str], dump_of: DumpOf) -> None:
    _, data = asked(capsys, dump_of(node_object()), "--diff-config", "systemReserved={memory: 1Gi, cpu: 500m}")
    found = rules(data)
    assert found["allocatable-memory-falls"]["worst"] == {"from": "7.9Gi", "to": "6.9Gi", "for": "n1"}
    assert found["allocatable-cpu-falls"]["worst"]["to"] == "3.5 CPUs"


def test_a_node_has_the_configuration_of_its_name_its_pool_or_all(
    capsys: pytest.CaptureFixture[str], dump_of: DumpOf, tmp_path: Path
) -> None:
    (tmp_path / "configs").mkdir()
    for name, pids in (("default", 1), ("blue", 2), ("n3", 3)):
        config = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "podPidsLimit": pids}
        (tmp_path / "configs" / f"{name}.json").write_text(json.dumps(config))
    nodes = [node_object("n1"), node_object("n2", labels={"pool": "blue"}), node_object("n3", labels={"pool": "blue"})]
    pods = [pod_object(number, f"n{number}") for number in (1, 2, 3)]
    given = "--configs", tmp_path / "configs", "--pool-label", "pool", "--diff-config", "podPidsLimit=10"
    _, data = asked(capsys, dump_of(*nodes, *pods), *given)
    assert rules(data)["pod-pids.max-rises"]["worst"] == {"from": "1", "to": "10", "for": "default/p1 on n1"}


def test_a_broken_pod_and_a_broken_node_end_nothing(capsys: pytest.CaptureFixture[str], dump_of: DumpOf) -> None:
    wrong = pod_object(1, requests={"cpu": "lots"})
    status, data = asked(capsys, dump_of(node_object(), wrong, pod_object(2), node_object("n2", capacity={"cpu": "x"})))
    assert status == 1
    assert data["nodes"][0]["name"] == "n2"
    assert "status.capacity.cpu" in data["nodes"][0]["error"]
    assert len(data["errors"]) == 1
    assert "resources.requests.cpu" in data["errors"][0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("/nowhere",), "/nowhere: cannot be read: No such file or directory"),
        (("-", "-"), "standard input can be read once"),
        (("--workers", "0", "x"), "'0' is not a number"),
        (("--diff-config", "/nowhere", "x"), "cannot be read"),
        (("--diff-runtime-version", "new", "x"), "no runtime version"),
        (("--configs", "/nowhere", "x"), "/nowhere: cannot be read"),
        (("--dask", "tcp://127.0.0.1:1", "--workers", "2", "x"), "exclude each other"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert main(["fleet", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said


def test_several_workers_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, *ASKED, "--workers", 3) == asked(capsys, *ASKED, "--workers", 1)


def test_the_table_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", *ASKED]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "60 nodes, 720 pods, 911 containers"
    assert any(line.startswith("cgroup-v1 ") for line in lines)


def test_the_page_shows_findings_and_nodes(tmp_path: Path) -> None:
    page = tmp_path / "fleet.html"
    assert main(["fleet", *ASKED, "--html", str(page)]) == 1
    script = (
        "document.querySelector('#findings tbody tr').click();"
        "document.body.dataset.filtered = document.getElementById('count').textContent;"
        "document.querySelector('#map button').click();"
    )
    text = page.read_text().replace("</body>", f"<script>{script}</script></body>")
    document = drawn(text, tmp_path)
    assert 'data-drawn="yes"' in document
    assert 'data-filtered="8 of 60 nodes"' in document
    assert "<h2>memory-00036</h2>" in document
    assert "://" not in page.read_text()


# -- on a Dask cluster ----------------------------------------------------------------------------


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its three workers."""
    pytest.importorskip("distributed", reason="no distributed (pip install 'fakecgroup[fleet]')")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    log = (tmp_path / "log").open("wb")
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
        started.append(subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log))

    start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    for _ in range(3):
        start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    try:
        from distributed import Client

        def has_workers() -> bool:
            try:
                with Client(address, timeout=5, set_as_default=False) as client:
                    return len(client.nthreads()) == 3
            except OSError:
                return False

        wait_until(has_workers)
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()
        log.close()


def _busy(address: str) -> bool:
    """Whether the cluster looks at nodes."""
    from distributed import Client

    with Client(address, timeout=5, set_as_default=False) as client:
        return any(client.processing().values())


@pytest.mark.timeout(300)
def test_a_dask_cluster_finds_the_same_though_a_worker_is_killed(
    scheduler: tuple[str, list[subprocess.Popen[bytes]]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    address, workers = scheduler
    (tmp_path / "dump.json").write_text("".join(cluster(400, 10)))
    given = str(tmp_path / "dump.json"), "--diff-kubelet-version", "1.37"
    expected = asked(capsys, *given, "--workers", 1)
    command = [sys.executable, "-c", "import sys; from cgroup_engine.cli import main; sys.exit(main())", "fleet"]
    running = subprocess.Popen(
        [*command, *given, "--dask", address, "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: _busy(address))
    os.kill(workers[0].pid, signal.SIGKILL)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, json.loads(out)) == expected, err


def test_a_dask_cluster_finds_the_same(
    scheduler: tuple[str, list[subprocess.Popen[bytes]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(capsys, *ASKED, "--dask", scheduler[0]) == asked(capsys, *ASKED, "--workers", 1)


def test_an_address_without_a_scheduler_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="no distributed (pip install 'fakecgroup[fleet]')")
    assert main(["fleet", *ASKED, "--dask", "127.0.0.1"]) == 2
    assert main(["fleet", *ASKED, "--dask", "nonsense://x"]) == 2
    assert "Traceback" not in capsys.readouterr().err
