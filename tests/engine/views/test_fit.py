"""Do the pods fit on the node? Requests, number of pods, and protected memory."""

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
from cgroup_engine.views.fit import Misfit, misfits

NODE = ["--cpus", "4", "--memory", "8Gi", "--max-pids", "32768", "--hugepages", "", "--swap", "0"]


@pytest.fixture
def unfit(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., list[Misfit]]:
    """What does not fit on a node of 4 CPUs and 8 GiB with these fields, for pods with these requests."""

    def found(requests: list[dict[str, str]], **fields: Any) -> list[Misfit]:
        node = make_node(**fields)
        pods = [make_pod(make_container(requests=amounts), n=n) for n, amounts in enumerate(requests, 1)]
        return misfits(node, pods, wanted_tree(node, pods))

    return found


def test_requests_up_to_what_is_allocatable_fit(unfit: Callable[..., list[Misfit]]) -> None:
    assert unfit([{"cpu": "1500m", "memory": "3584Mi"}] * 2, kubeReserved={"cpu": "1", "memory": "1Gi"}) == []


def test_requests_over_what_is_allocatable_are_told(unfit: Callable[..., list[Misfit]]) -> None:
    cpu, memory = unfit([{"cpu": "1600m", "memory": "4Gi"}] * 2, kubeReserved={"cpu": "1", "memory": "1Gi"})
    assert (cpu.what, cpu.asked, cpu.room) == ("cpu", 3200, 3000)
    assert cpu.text == (
        "pods request 3.2 CPUs, and 3 CPUs are allocatable: a kubelet rejects pods that do not fit (OutOfcpu)"
    )
    assert (memory.what, memory.asked, memory.room) == ("memory", 8 << 30, 7 << 30)
    assert "8Gi of memory, and 7Gi are allocatable" in memory.text


def test_huge_pages_that_the_node_has_not_are_told(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(huge_pages={2 << 20: 2 << 20})
    pods = [make_pod(make_container(limits={"hugepages-2Mi": "4Mi", "cpu": "1"}))]
    (pages,) = misfits(node, pods, wanted_tree(node, pods))
    assert (pages.what, pages.asked, pages.room) == ("hugepages-2Mi", 4 << 20, 2 << 20)


@pytest.mark.parametrize(
    ("fields", "most"),
    [({"maxPods": 2}, 2), ({"podsPerCore": 1}, 4), ({"maxPods": 3, "podsPerCore": 1}, 3), ({"maxPods": 0}, 110)],
)
def test_more_pods_than_the_kubelet_admits_are_told(
    unfit: Callable[..., list[Misfit]], fields: dict[str, int], most: int
) -> None:
    assert unfit([{}] * most, **fields) == []
    (pods,) = unfit([{}] * (most + 1), **fields)
    assert pods.text == f"{most + 1} pods, and the node takes {most}: a kubelet rejects the others (OutOfpods)"


def test_memory_that_is_nearly_all_protected_is_told(unfit: Callable[..., list[Misfit]]) -> None:
    fields = {"featureGates": {"MemoryQoS": True}, "memoryReservationPolicy": "TieredReservation"}
    guaranteed = {"cpu": "1", "memory": "7Gi"}
    assert [each.what for each in unfit([guaranteed], **fields)] == []
    (protected,) = unfit([{"cpu": "1", "memory": "7600Mi"}], **fields)
    assert protected.what == "memory.min"
    assert protected.text.startswith("memory.min protects 7.4Gi of the node's 8Gi: ")


@pytest.mark.parametrize("output", ["json", "yaml", "table"])
def test_the_commands_warn_once_and_data_has_it(
    tmp_path: Path, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = tmp_path / "pods.json"
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u1"},
        "spec": {"containers": [container]},
    }
    pods.write_text(json.dumps(pod))
    root = tmp_path / "cgroup"
    root.mkdir()
    for name in ("cgroup.controllers", "cgroup.subtree_control", "cgroup.procs"):
        (root / name).write_text("cpu memory pids\n" if name == "cgroup.controllers" else "")
    for command in (["plan", "--root", str(root)], ["status", "--root", str(root)], ["explain"]):
        assert main([*command, *NODE, "-o", output, str(pods)]) == 0
        told = capsys.readouterr()
        assert told.err.count("pods request 5 CPUs, and 4 CPUs are allocatable") == 1
        assert ("OutOfcpu" in told.out) == (output != "table")
        if output == "json":
            assert [each["what"] for each in json.loads(told.out)["unfit"]] == ["cpu"]
