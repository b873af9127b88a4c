"""`kubectl cgroups`: a pod by its name in a cluster, explained here and looked at by the engine on its node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main as engine
from cgroup_engine.cli.kubectl import main
from cgroup_engine.inputs.config import node_config
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.run.address import Address
from cgroup_engine.run.events import Kept, Reconciled
from cgroup_engine.run.health import Health
from cgroup_engine.run.metrics import Metrics
from cgroup_engine.run.pod_status import PodStatus
from cgroup_engine.run.server import Server
from cgroup_engine.tree.layout import detect
from fakecgroup import KernelFs
from fakecgroup.kernel import Kernel

from ..cluster_server import ClusterServer
from ..fleet.conftest import node_object, pod_object

POD = pod_object(1, name="web", requests={"cpu": "500m"}, limits={"cpu": "1", "memory": "64Mi"})
ENGINE = pod_object(2, name="cgroup-engine-x")
ENGINE["metadata"] |= {"namespace": "cgroup-engine", "labels": {"app.kubernetes.io/name": "cgroup-engine"}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClusterServer]:
    server = ClusterServer(tmp_path, [node_object()], [POD])
    server.kubelets["n1"] = {"kubeletconfig": {"podPidsLimit": 100}}
    yield server
    server.close()


@pytest.fixture
def with_engine(server: ClusterServer) -> Iterator[ClusterServer]:
    """The cluster with an engine on its node, on a fake where podPidsLimit was not written."""
    server.pods.append(ENGINE)
    kernel = Kernel("v2", "6.12", cpus=4)
    kernel_fs = KernelFs(kernel)
    node = node_config({}, "", version=KubeletVersion(34), cpus=4, memory=8 << 30, max_pids=1000)
    pod = pod_from_object(POD, "", node.version)
    wanted = wanted_tree(node, [pod])
    status = PodStatus(lambda: kernel_fs)
    status.hear(Reconciled("start", 0.1, {}, kept_tree=Kept(detect(kernel_fs, "/"), wanted)))
    with closing(Server(Address("127.0.0.1", 0), Metrics("1", "1.34").registry, Health(), status)) as running:
        server.engines["cgroup-engine-x"] = running.url
        yield server


def asked(server: ClusterServer, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main([*arguments, "--kubeconfig", str(server.kubeconfig())])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_pod_is_explained_as_from_files(
    server: ClusterServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pods.json").write_text(json.dumps(POD))
    (tmp_path / "kubelet.json").write_text(json.dumps(server.kubelets["n1"]))
    machine = (
        "--cpus 4 --memory 8Gi --max-pids 4194304 --kubelet-version 1.34 --runtime-version containerd-2.1.4".split()
    )
    config = str(tmp_path / "kubelet.json")
    engine(
        [
            "explain",
            *machine,
            "--swap",
            "0",
            "--hugepages",
            "",
            "--config",
            config,
            "-o",
            "json",
            str(tmp_path / "pods.json"),
            "web",
        ]
    )
    from_files = json.loads(capsys.readouterr().out)
    status, out, err = asked(server, capsys, "explain", "web", "-o", "json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["pods"] == from_files["pods"]
    assert next(value for value in found["pods"][0]["values"] if value["what"] == "pids")["v2"] == {"pids.max": "100"}


@pytest.mark.parametrize("arguments", [("shop/web",), ("web", "-n", "shop"), ("web",)])
def test_the_namespace_is_named_or_that_of_the_context(
    server: ClusterServer, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    main(["explain", *arguments, "--kubeconfig", str(server.kubeconfig(namespace="shop"))])
    assert server.requests[0] == "/api/v1/namespaces/shop/pods/web"


def test_without_the_right_to_ask_the_kubelet_its_defaults_are_taken(
    server: ClusterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.forbidden = ("/api/v1/nodes/n1/proxy",)
    status, out, err = asked(server, capsys, "explain", "web")
    assert (status, err.count("\n")) == (0, 1)
    assert "taken to be kubelet 1.34's default" in err
    assert "pod default/web  Burstable" in out


def test_a_configuration_that_is_given_is_taken(
    server: ClusterServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "k.json").write_text(json.dumps({"kubeletconfig": {"podPidsLimit": 77}}))
    _, out, _ = asked(server, capsys, "explain", "web", "--config", str(tmp_path / "k.json"))
    assert "podPidsLimit = 77 tasks" in out
    assert not any("configz" in request for request in server.requests)


@pytest.mark.parametrize("command", ["explain", "status"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spec": {"containers": []}}, "it is on no node yet"),
        ({"status": {"phase": "Succeeded"}}, "it has ended (Succeeded)"),
        ({"metadata": {"name": "another"}}, '404 Not Found: "pods "web" not found"'),
    ],
)
def test_a_pod_without_cgroups_is_one_line(
    server: ClusterServer, capsys: pytest.CaptureFixture[str], command: str, change: dict[str, Any], said: str
) -> None:
    server.pods = [{**POD, **change}]
    status, out, err = asked(server, capsys, command, "web")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert said in err


@pytest.mark.parametrize("name", ["../nodes/n1", "web?x=1", "UPPER", "a b", ""])
def test_a_name_reaches_no_other_path(server: ClusterServer, capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, _, err = asked(server, capsys, "explain", "-n", "default", name)
    assert (status, err.count("\n"), server.requests) == (1, 1, [])


def test_the_status_is_what_the_engine_on_the_node_sees(
    with_engine: ClusterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = asked(with_engine, capsys, "status", "web")
    assert status == 0
    assert "missing" in out
    assert out.splitlines()[-1].startswith("v2: ")
    assert "differ" in out.splitlines()[-1]


def test_a_check_of_the_status_fails_where_something_differs(
    with_engine: ClusterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = asked(with_engine, capsys, "status", "web", "--check", "-o", "json")
    assert (status, json.loads(out)["drift"]) == (1, True)


def test_a_pod_that_the_engine_does_not_know_is_one_line(
    with_engine: ClusterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with_engine.pods.append(pod_object(3, name="new"))
    status, _, err = asked(with_engine, capsys, "status", "new")
    assert (status, err.count("\n")) == (1, 1)
    assert "404" in err


def test_a_node_without_an_engine_is_one_line(server: ClusterServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(server, capsys, "status", "web") == (
        1,
        "",
        "kubectl cgroups: node n1 runs no engine that could tell; kubectl apply -k deploy/kubernetes\n",
    )


@pytest.mark.parametrize("answer", [[], {}, {"layout": "v2", "files": [{}]}, {"layout": "v2", "files": 7}])
def test_an_engine_that_answers_something_else_is_one_line(
    server: ClusterServer, capsys: pytest.CaptureFixture[str], answer: Any
) -> None:
    server.pods.append(ENGINE)
    server.engines["cgroup-engine-x"] = answer
    status, _, err = asked(server, capsys, "status", "web", "--check")
    assert (status, err.count("\n")) == (1, 1)
    assert "answers no status" in err
