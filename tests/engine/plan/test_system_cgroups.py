"""Where the kubelet moves itself and the other processes of the root."""

from __future__ import annotations

from collections.abc import Callable
from errno import ESRCH
from pathlib import Path

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.change.oom_score import set_kubelets_oom_score_adj
from cgroup_engine.errors import StepFailedError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.plan.system_cgroups import with_moves
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from cgroup_engine.tree.proc import Proc

from ..conftest import StubKernel


@pytest.fixture
def processes(tmp_path: Path) -> Proc:
    """1 is the first process, 2 a kernel thread, 70 the kubelet, 80 one of another namespace, 90 something else."""
    for pid, (name, namespace) in {
        1: ("systemd", "host"), 2: ("kthreadd", "host"), 70: ("kubelet", "host"), 80: ("kubelet", "other"),
        90: ("sshd", "host"),
    }.items():  # fmt: skip
        directory = tmp_path / str(pid)
        (directory / "ns").mkdir(parents=True)
        (directory / "comm").write_text(f"{name}\n")
        (directory / "ns" / "pid").symlink_to(namespace)
        (directory / "oom_score_adj").write_text("0\n")
        if pid != 2:
            (directory / "exe").symlink_to("/bin/x")
    return Proc(tmp_path)


def _plan(kernel: StubKernel, node: NodeConfig, processes: Proc) -> Plan:
    found = FoundTree(kernel, detect(kernel, "root"))
    return with_moves(make_plan(wanted_tree(node, []), found, node.driver), node, found, processes)


def _moved(plan: Plan) -> list[tuple[str, str]]:
    return [(step.path, step.text) for step in plan.steps if step.file == "cgroup.procs"]


def test_the_kubelet_of_the_host_is_moved_in_every_hierarchy(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], processes: Proc
) -> None:
    plan = _plan(stub(1), make_node(kubeletCgroups="/kube/kubelet"), processes)
    assert _moved(plan) == [(f"{tree}/kube/kubelet/cgroup.procs", "70") for tree in ("cpu", "memory", "pids")]


def test_the_processes_of_the_root_are_moved_but_the_first_and_the_kernels(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], processes: Proc
) -> None:
    kernel = stub(2)
    kernel.files["cgroup.procs"] = "1\n2\n90"
    plan = _plan(kernel, make_node(systemCgroups="/system", cgroupRoot="/"), processes)
    assert _moved(plan) == [("system/cgroup.procs", "90")]


def test_what_is_there_already_is_not_moved_again(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], processes: Proc
) -> None:
    kernel, node = stub(2), make_node(kubeletCgroups="/kubelet")
    outcome = execute(_plan(kernel, node, processes), kernel)
    assert not outcome.failed
    assert kernel.files["kubelet/cgroup.procs"] == "70"
    assert _plan(kernel, node, processes).steps == ()


def test_a_cgroup_that_is_reserved_too_is_left_to_the_operator(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], processes: Proc
) -> None:
    kernel = stub(2)
    kernel.write("cgroup.subtree_control", "+cpu +memory +pids")
    kernel.mkdir("kube")
    node = make_node(
        kubeletCgroups="/kube/kubelet",
        enforceNodeAllocatable=["pods", "kube-reserved"],
        kubeReserved={"cpu": "1"},
        kubeReservedCgroup="/kube",
    )
    plan = _plan(kernel, node, processes)
    assert [step.path for step in plan.steps if step.action == "mkdir" and step.path.startswith("kube/")] == [
        "kube/kubelet"
    ]


def test_down_leaves_them(stub: type[StubKernel], make_node: Callable[..., NodeConfig], processes: Proc) -> None:
    kernel, node = stub(2), make_node(kubeletCgroups="/kubelet")
    execute(_plan(kernel, node, processes), kernel)
    found = FoundTree(kernel, detect(kernel, "root"))
    execute(down_plan(wanted_tree(node, []), found, node.driver), kernel)
    assert "kubelet" in kernel.dirs
    assert "kubepods" not in kernel.dirs


def test_the_kubelets_oom_score_is_written(make_node: Callable[..., NodeConfig], processes: Proc) -> None:
    set_kubelets_oom_score_adj(make_node(kubeletCgroups="/kubelet"), processes)
    scores = {pid: (processes.directory / str(pid) / "oom_score_adj").read_text() for pid in (1, 2, 70, 80, 90)}
    assert scores == {1: "0\n", 2: "0\n", 70: "-999\n", 80: "0\n", 90: "0\n"}


def test_without_kubelet_cgroups_no_oom_score_is_written(make_node: Callable[..., NodeConfig], processes: Proc) -> None:
    set_kubelets_oom_score_adj(make_node(), processes)
    assert (processes.directory / "70" / "oom_score_adj").read_text() == "0\n"


def test_a_refused_oom_score_names_the_process(make_node: Callable[..., NodeConfig], processes: Proc) -> None:
    (processes.directory / "70" / "oom_score_adj").unlink()
    (processes.directory / "70" / "oom_score_adj").mkdir()
    with pytest.raises(StepFailedError, match=r"70/oom_score_adj.*EISDIR"):
        set_kubelets_oom_score_adj(make_node(kubeletCgroups="/kubelet"), processes)


def test_a_process_that_ended_before_its_move_is_no_failure(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], processes: Proc
) -> None:
    kernel, node = stub(2), make_node(kubeletCgroups="/kubelet")
    kernel.refuse["kubelet/cgroup.procs"] = ESRCH
    assert execute(_plan(kernel, node, processes), kernel).failed == []
