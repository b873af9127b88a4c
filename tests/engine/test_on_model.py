"""The engine on the model of the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import Outcome, execute
from cgroup_engine.inputs.config import feature_gates, node_config, read_config
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import parse
from cgroup_engine.model.names import Driver
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.status import Row, compare
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs

EXAMPLES = ["three-pods", "reserved"]
KERNELS = [("v1", "5.10"), *(("v2", version) for version in ("5.10", "6.1", "6.12", "7.2")), ("hybrid", "6.1")]


class Node:
    """An example on a kernel: its node, its pods, and the reserved cgroups its operator made."""

    def __init__(self, example: Path, name: str, layout: str, version: str) -> None:
        self.expected = json.loads((example / "expected.json").read_text())[name]
        size = {"cpus": self.expected["cpus"], "memory": self.expected["memory"]}
        self.fs = KernelFs(Kernel(layout=layout, kernel=version, **size))
        fields, where = read_config(example / f"{name}.kubelet.yaml")
        kubelet = parse(self.expected["kubelet_version"], feature_gates(fields, where))
        self.node = node_config(fields, where, version=kubelet, max_pids=32768, **size)
        found = self.found().layout
        self.node = replace(self.node, cgroup_version=found.version, cpu_list=found.cpus)
        self.pods = read_pods([example / f"{name}.yaml"], kubelet)
        reserved = [cgroup.path for cgroup in wanted_tree(self.node, []) if cgroup.level == "reserved"]
        if reserved and layout == "v2":
            every = self.fs.read("cgroup.controllers").split()
            self.fs.write("cgroup.subtree_control", " ".join(f"+{name}" for name in every))
        for path in reserved:
            for tree in found.hierarchies:
                if not self.fs.is_dir(f"{tree}/{path}".lstrip("/")):
                    self.fs.mkdir(f"{tree}/{path}".lstrip("/"))

    def found(self) -> FoundTree:
        return FoundTree(self.fs, detect(self.fs, "model"))

    def apply(self) -> Outcome:
        return execute(make_plan(wanted_tree(self.node, self.pods), self.found(), self.node.driver), self.fs)

    def down(self) -> Outcome:
        return execute(down_plan(wanted_tree(self.node, []), self.found(), self.node.driver), self.fs)

    def status(self) -> list[Row]:
        return compare(wanted_tree(self.node, self.pods), self.found(), self.node.driver)

    def snapshot(self, path: str = "") -> dict[str, str | None]:
        """Every directory, and every file that this engine could have written."""
        tree: dict[str, str | None] = {}
        for name in self.fs.listdir(path):
            child = f"{path}/{name}" if path else name
            if self.fs.is_dir(child):
                tree[child] = None
                tree |= self.snapshot(child)
            elif name in ("cpu.shares", "cpu.weight", "cpu.max", "memory.max", "pids.max", "cgroup.subtree_control",
                          "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes"):  # fmt: skip
                tree[child] = self.fs.read(child)
        return tree


@pytest.mark.parametrize("name", EXAMPLES)
def test_v1_holds_the_published_values(example: Path, name: str) -> None:
    node = Node(example, name, "v1", "6.1")
    assert node.apply().failed == []
    files = {path: node.fs.read(path).strip() for path in node.expected["files"]}
    assert files == node.expected["files"]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(("layout", "version"), KERNELS)
def test_a_second_apply_writes_nothing(example: Path, name: str, layout: str, version: str) -> None:
    node = Node(example, name, layout, version)
    assert node.apply().failed == []
    again = node.apply()
    assert (again.done, again.failed) == ([], [])
    assert {row.state for row in node.status()} == {"ok"}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(("layout", "version"), KERNELS)
def test_down_leaves_the_tree_as_before(example: Path, name: str, layout: str, version: str) -> None:
    node = Node(example, name, layout, version)
    before = node.snapshot()
    assert node.apply().failed == []
    assert node.down().failed == []
    assert node.snapshot() == before


@pytest.mark.parametrize(("layout", "version"), KERNELS)
def test_a_changed_value_is_found_and_repaired(example: Path, layout: str, version: str) -> None:
    node = Node(example, "three-pods", layout, version)
    node.apply()
    file = "memory/kubepods/memory.limit_in_bytes" if layout != "v2" else "kubepods/memory.max"
    node.fs.write(file, "1073741824")
    assert [row.path for row in node.status() if row.state == "drift"] == [file]
    assert [step.path for step in node.apply().done] == [file]
    assert {row.state for row in node.status()} == {"ok"}


def test_a_pod_can_shrink_and_grow_on_v1(example: Path) -> None:
    node = Node(example, "three-pods", "v1", "6.1")
    node.apply()
    pods = node.pods
    for minimal in (pods[:1], pods[1:], pods):
        node.pods = minimal
        assert node.apply().failed == []
        assert {row.state for row in node.status()} == {"ok"}


@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
@pytest.mark.parametrize(("layout", "version"), KERNELS)
def test_reserved_cgroups_below_the_cgroup_root_get_their_values_at_the_first_apply(
    make_node: Callable[..., NodeConfig], driver: Driver, layout: str, version: str
) -> None:
    names = ("fcg.slice", "fcg-sys.slice", "fcg-kube.slice") if driver == "systemd" else ("fcg", "sys", "kube")
    root, system, kube = names[0], f"{names[0]}/{names[1]}", f"{names[0]}/{names[2]}"
    reserved = {"cpu": "1", "memory": "1Gi", "pid": "9"}
    node = make_node(
        driver=driver,
        huge_pages={2 << 20: 128 << 20, 1 << 30: 0},
        cgroupRoot="/fcg",
        enforceNodeAllocatable=["pods", "system-reserved", "kube-reserved"],
        systemReserved=reserved,
        systemReservedCgroup=f"/{system}",
        kubeReserved=reserved,
        kubeReservedCgroup=f"/{kube}",
    )
    fs = KernelFs(Kernel(layout=layout, kernel=version, cpus=4, memory=8 << 30))
    layout_found = detect(fs, "model")
    node = replace(node, cgroup_version=layout_found.version, cpu_list=layout_found.cpus)
    for tree in layout_found.hierarchies:
        for path in (root, system, kube):
            fs.mkdir(layout_found.directory(tree, path))
    wanted = wanted_tree(node, [])
    outcome = execute(make_plan(wanted, FoundTree(fs, layout_found), driver), fs)
    assert (outcome.failed, outcome.skipped) == ([], [])
    assert {row.state for row in compare(wanted, FoundTree(fs, layout_found), driver)} == {"ok"}


@pytest.mark.parametrize("minor", [28, 36])
@pytest.mark.parametrize(("layout", "version"), KERNELS)
def test_huge_pages_swap_and_memory_qos_grow_and_shrink(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    layout: str,
    version: str,
    minor: int,
) -> None:
    gates = {"MemoryQoS": True} if minor == 36 else {"MemoryQoS": True, "NodeSwap": True}
    policy = {"memoryReservationPolicy": "TieredReservation"} if minor == 36 else {}
    node = make_node(
        minor=minor,
        swap=2 << 30,
        huge_pages={2 << 20: 128 << 20, 1 << 30: 0},
        featureGates=gates,
        memorySwap={"swapBehavior": "LimitedSwap"},
        **policy,
    )
    fs = KernelFs(Kernel(layout=layout, kernel=version, cpus=4, memory=8 << 30))
    for limit in ("2Gi", "4Gi", "3Gi"):
        pods = [
            make_pod(make_container(limits={"cpu": "1", "memory": limit, "hugepages-2Mi": "4Mi"}), n=1, minor=minor),
            make_pod(make_container(requests={"memory": "1Gi"}, limits={"memory": limit}), n=2, minor=minor),
        ]
        wanted = wanted_tree(node, pods)
        assert execute(make_plan(wanted, FoundTree(fs, detect(fs, "model")), node.driver), fs).failed == []
        assert {row.state for row in compare(wanted, FoundTree(fs, detect(fs, "model")), node.driver)} == {"ok"}
    pod = "kubepods/burstable/pod0aa1a5e2-0b3f-4d0e-8f31-000000000002"
    container = f"{pod}/{wanted[-1].path.rpartition('/')[2]}"
    if layout == "v2":
        protected = "memory.low" if minor == 36 else "memory.min"
        assert fs.read(f"{container}/memory.swap.max") == f"{256 << 20}\n"
        assert fs.read(f"{pod}/{protected}") == f"{1 << 30}\n"
        assert fs.read(f"{container}/memory.oom.group") == "1\n"
    else:
        assert fs.read(f"memory/{container}/memory.memsw.limit_in_bytes") == f"{3 << 30}\n"
    hugetlb = "hugetlb.2MB.max" if layout == "v2" else "hugetlb.2MB.limit_in_bytes"
    guaranteed = "kubepods/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"
    tree = "" if layout == "v2" else "hugetlb/"
    assert [fs.read(f"{tree}{path}/{hugetlb}") for path in (guaranteed, pod)] == ["4194304\n", "0\n"]
