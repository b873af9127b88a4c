"""Execution: read-back, failures, and the steps that depend on them."""

from __future__ import annotations

from collections.abc import Callable
from errno import EACCES, EBUSY, EEXIST, ENODEV, ENOENT, EPERM, EROFS
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import Outcome, execute
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect

from ..conftest import StubKernel

LIMITED = {"limits": {"cpu": "1", "memory": "1Gi"}}
POD = "kubepods/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"


def _run(kernel: Any, wanted: tuple[WantedCgroup, ...]) -> Outcome:
    return execute(make_plan(wanted, FoundTree(kernel, detect(kernel, "stub")), "cgroupfs"), kernel)


def test_a_failed_write_is_reported_with_path_value_and_errno(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(1)
    kernel.refuse[f"memory/{POD}/memory.limit_in_bytes"] = EBUSY
    outcome = _run(kernel, wanted_tree(make_node(), [make_pod(make_container(**LIMITED))]))
    [failure] = outcome.failed
    assert (failure.path, failure.value, failure.errno) == (
        f"memory/{POD}/memory.limit_in_bytes", "1073741824", EBUSY,
    )  # fmt: skip
    assert "EBUSY" in str(failure)
    assert "\n" not in str(failure)


def test_what_depends_on_a_failed_write_is_not_attempted_and_the_rest_is(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(1)
    kernel.refuse[f"memory/{POD}/memory.limit_in_bytes"] = EBUSY
    outcome = _run(kernel, wanted_tree(make_node(), [make_pod(make_container(**LIMITED)), make_pod(n=2)]))
    assert {step.file for step in outcome.skipped} == {"memory.limit_in_bytes"}
    assert all(step.path.startswith(f"memory/{POD}/") for step in outcome.skipped)
    assert any("000000000002" in step.path for step in outcome.done)


def test_nothing_below_a_directory_that_could_not_be_made_is_attempted(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(2)
    kernel.refuse["kubepods/besteffort"] = EACCES
    outcome = _run(kernel, wanted_tree(make_node(), [make_pod()]))
    assert [failure.errno for failure in outcome.failed] == [EACCES]
    assert all(step.path.startswith("kubepods/besteffort/") for step in outcome.skipped)


def test_children_have_no_values_where_their_controllers_could_not_be_enabled(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(2)
    kernel.refuse["kubepods/cgroup.subtree_control"] = EBUSY
    outcome = _run(kernel, wanted_tree(make_node(), [make_pod()]))
    assert len(outcome.failed) == 1
    assert "move them into a child first" in str(outcome.failed[0])
    assert "kubepods/burstable" in kernel.dirs


def test_controllers_that_root_may_not_enable_name_the_capability(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(2)
    kernel.refuse["cgroup.subtree_control"] = EPERM
    [failure] = _run(kernel, wanted_tree(make_node(), [make_pod()])).failed
    assert "CAP_SYS_NICE" in failure.todo


def test_a_value_that_reads_back_differently_is_a_failure(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel = stub(2)
    kernel.instead["kubepods/cpu.weight"] = "100"
    [failure] = _run(kernel, wanted_tree(make_node(), [])).failed
    assert str(failure).startswith('kubepods/cpu.weight: wrote "157" and read back "100"')


def test_memory_rounded_down_to_a_page_is_as_wanted(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(2)
    wanted = wanted_tree(make_node(), [make_pod(make_container(limits={"cpu": "1", "memory": "1000000"}))])
    assert _run(kernel, wanted).failed == []
    assert _run(kernel, wanted).done == []


class _Busy:
    """A v1 kernel with so many bytes in use in the BestEffort class."""

    def __init__(self, kernel: StubKernel, usage: int) -> None:
        self.kernel = kernel
        self.usage = usage

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def write(self, path: str, data: str) -> None:
        if path == "memory/kubepods/besteffort/memory.limit_in_bytes" and 0 <= int(data) < self.usage:
            raise OSError(EBUSY, "busy")
        self.kernel.write(path, data)

    def write_and_read(self, path: str, data: str) -> str:
        self.write(path, data)
        return self.read(path)

    def read(self, path: str) -> str:
        if path == "memory/kubepods/besteffort/memory.usage_in_bytes":
            return f"{self.usage}\n"
        return self.kernel.read(path)


def test_a_qos_class_that_uses_more_than_is_left_to_it_is_limited_to_that(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = _Busy(stub(1), 5 << 30)
    node = make_node(featureGates={"QOSReserved": True}, qosReserved={"memory": "100%"})
    outcome = _run(kernel, wanted_tree(node, [make_pod(make_container(limits={"cpu": "1", "memory": "4Gi"}))]))
    assert outcome.failed == []
    assert kernel.files["memory/kubepods/besteffort/memory.limit_in_bytes"] == str(5 << 30)
    assert kernel.files["memory/kubepods/burstable/memory.limit_in_bytes"] == str(4 << 30)
    [step] = [step for step in outcome.done if step.text == str(5 << 30)]
    assert "more is in use" in step.why


@pytest.mark.parametrize(("usage", "limit"), [(0, "9223372036854771712"), (5 << 30, str(5 << 30))])
def test_a_qos_class_that_less_than_nothing_is_left_to_is_limited_to_its_usage(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    usage: int,
    limit: str,
) -> None:
    kernel = _Busy(stub(1), usage)
    node = make_node(featureGates={"QOSReserved": True}, qosReserved={"memory": "100%"})
    outcome = _run(kernel, wanted_tree(node, [make_pod(make_container(limits={"cpu": "1", "memory": "9Gi"}))]))
    assert outcome.failed == []
    assert kernel.files["memory/kubepods/besteffort/memory.limit_in_bytes"] == limit


def test_a_limit_that_is_refused_though_less_is_in_use_is_a_failure(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(1)
    kernel.refuse["memory/kubepods/besteffort/memory.limit_in_bytes"] = EBUSY
    node = make_node(featureGates={"QOSReserved": True}, qosReserved={"memory": "100%"})
    outcome = _run(kernel, wanted_tree(node, [make_pod(make_container(limits={"cpu": "1", "memory": "4Gi"}))]))
    assert [failure.errno for failure in outcome.failed] == [EBUSY]


def test_a_link_where_a_cgroup_should_be_is_not_followed(tmp_path: Path, make_node: Callable[..., NodeConfig]) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for directory in (root / "kubepods", outside):
        directory.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory")
    for directory in (root, root / "kubepods"):
        (directory / "cgroup.subtree_control").write_text("cpu memory")
        (directory / "cgroup.procs").write_text("")
    for directory in (root / "kubepods", outside):
        for name, text in {"cpu.weight": "100", "cpu.max": "max 100000", "memory.max": "max"}.items():
            (directory / name).write_text(text)
    (root / "kubepods" / "burstable").symlink_to(outside)
    outcome = _run(OsFs(str(root)), wanted_tree(make_node(), []))
    assert outcome.failed[0].errno == EEXIST
    assert str(outcome.failed[0]).startswith("kubepods/burstable: mkdir failed: EEXIST (it is a symbolic link)")
    assert (outside / "cpu.weight").read_text() == "100"


@pytest.mark.parametrize("number", [ENOENT, ENODEV])
def test_a_cgroup_that_somebody_else_has_removed_is_removed(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], number: int
) -> None:
    """ENODEV is kernfs_iop_rmdir's answer while the removal is under way (fs/kernfs/dir.c)."""
    kernel = stub(2)
    kernel.refuse["kubepods/gone"] = number
    step = Step("rmdir", "kubepods/gone", "kubepods/gone", "", "", during="remove")
    outcome = execute(Plan(detect(kernel, "stub"), (step,)), kernel)
    assert (outcome.done, outcome.failed) == ([step], [])


def test_a_read_only_tree_is_said(stub: type[StubKernel], make_node: Callable[..., NodeConfig]) -> None:
    kernel = stub(2)
    kernel.refuse["cgroup.subtree_control"] = EROFS
    failures = _run(kernel, wanted_tree(make_node(), [])).failed
    assert "read-write" in str(failures[0])
