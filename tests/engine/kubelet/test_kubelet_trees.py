"""The wanted tree against the trees that running kubelets made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.inputs.config import node_config
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.hugepages import UNLIMITED
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.steps import make_plan, settings_of
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import Controller, Layout, detect
from fakecgroup import Kernel, KernelFs

V1: dict[Controller, str] = {"cpu": "cpu,cpuacct", "memory": "memory", "pids": "pids"}
LAYOUTS = {
    1: Layout(1, tuple(V1.values()), V1, swap=False),
    2: Layout(2, ("",), {"cpu": "", "memory": "", "pids": "", "hugetlb": "", "cpuset": ""}),
}


def _wanted(row: dict[str, Any], minor: int) -> tuple[WantedCgroup, ...]:
    version = KubeletVersion(minor)
    size = {name: row[name] for name in ("cpus", "memory", "max_pids")}
    pages = {int(page): total for page, total in row.get("huge_pages", {}).items()}
    node = node_config(row["config"], "test", version=version, huge_pages=pages, **size)
    node = replace(node, cpu_list=f"0-{node.cpus - 1}")
    return wanted_tree(node, [pod_from_object(item, "test", version) for item in row["pods"]])


@pytest.mark.parametrize(("kubelet", "minor"), [("1.20.2", 24), ("1.36.2", 36)])
def test_every_value_is_what_the_kubelet_wrote(
    recorded: Callable[[str], list[dict[str, Any]]], kubelet: str, minor: int
) -> None:
    row = next(row for row in recorded("trees") if row["kubelet"] == kubelet)
    seen = set()
    for cgroup in _wanted(row, minor):
        for knob, setting in settings_of(cgroup, LAYOUTS[row["layout"]]):
            for file, text in zip(knob.files, setting, strict=True):
                path = LAYOUTS[row["layout"]].file(knob.controller, cgroup.path, file)
                seen.add(path)
                assert knob.same(text, row["files"][path], file), (path, text, row["files"][path])
    assert seen == set(row["files"])


@pytest.mark.parametrize(("kubelet", "minor", "kernel"), [("1.20.2", 24, "5.10"), ("1.36.2", 36, "6.1")])
def test_after_apply_every_writable_file_is_as_the_kubelet_left_it(
    recorded: Callable[[str], list[dict[str, Any]]], kubelet: str, minor: int, kernel: str
) -> None:
    row = next(row for row in recorded("trees") if row["kubelet"] == kubelet)
    fs = KernelFs(Kernel(layout=f"v{row['layout']}", kernel=kernel, cpus=row["cpus"], memory=row["memory"]))
    assert execute(make_plan(_wanted(row, minor), FoundTree(fs, detect(fs, "model")), "cgroupfs"), fs).failed == []
    ours = {path: {name: fs.read(f"{path}/{name}").strip() for name in files} for path, files in row["left"].items()}
    if kubelet == "1.20.2":  # since 1.22 the QoS manager writes over these
        for page in ("1GB", "2MB"):
            assert ours["hugetlb/kubepods"].pop(f"hugetlb.{page}.limit_in_bytes") == str(UNLIMITED)
            del row["left"]["hugetlb/kubepods"][f"hugetlb.{page}.limit_in_bytes"]
    assert ours == row["left"]


def test_a_systemd_scope_has_systemds_share_of_the_tasks(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    """As systemd 252 left it beneath kubelet 1.36.2, whose pods had podPidsLimit and whose containers no limit."""
    for driver, tasks in (("systemd", 32768 * 15 // 100), ("cgroupfs", None)):
        tree = wanted_tree(make_node(driver=driver), [make_pod()])
        assert [cgroup.limits.pids for cgroup in tree if cgroup.level == "container"] == [tasks]


def test_every_oom_score_is_what_the_kubelet_asked_for(recorded: Callable[[str], list[dict[str, Any]]]) -> None:
    row = next(row for row in recorded("trees") if row["kubelet"] == "1.36.2")
    scores = {cgroup.path: cgroup.oom_score_adj for cgroup in _wanted(row, 36) if cgroup.container is not None}
    # the recorded ones have a finished init container too, which has no cgroup any more
    assert {path: row["oom_score_adj"][path] for path in scores} == scores
