"""Plans: complete, in order, and legal at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgroup_engine.change.apply import execute
from cgroup_engine.errors import ReservedCgroupMissingError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import Driver
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect

from ..conftest import StubKernel

LIMITED = {"limits": {"cpu": "1", "memory": "1Gi"}}


def _plan(
    wanted: list[WantedCgroup] | tuple[WantedCgroup, ...], kernel: StubKernel, driver: Driver = "cgroupfs"
) -> Plan:
    return make_plan(wanted, FoundTree(kernel, detect(kernel, "stub")), driver)


@pytest.mark.parametrize("version", [1, 2])
def test_the_plan_makes_the_wanted_tree_and_then_has_nothing_to_do(
    stub: type[StubKernel],
    version: int,
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(version)
    wanted = wanted_tree(make_node(podPidsLimit=9), [make_pod(make_container(**LIMITED)), make_pod(n=2)])
    assert execute(_plan(wanted, kernel), kernel).failed == []
    assert _plan(wanted, kernel).steps == ()


@pytest.mark.parametrize("version", [1, 2])
def test_planning_changes_nothing(
    stub: type[StubKernel], version: int, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(version)
    _plan(wanted_tree(make_node(), [make_pod()]), kernel)
    assert kernel.log == []


def test_controllers_are_enabled_before_the_childs_files_are_written(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(2)
    steps = _plan(wanted_tree(make_node(), [make_pod(make_container(**LIMITED))]), kernel).steps
    position = {step.path: number for number, step in enumerate(steps)}
    assert position["cgroup.subtree_control"] < position["kubepods/cpu.weight"]
    pod = "kubepods/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"
    container = next(path for path in position if path.startswith(pod) and path.endswith("/cpu.max") and
                     path.count("/") == 3)  # fmt: skip
    assert position[f"{pod}/cgroup.subtree_control"] < position[container]


def test_a_leaf_enables_no_controllers(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    steps = _plan(wanted_tree(make_node(), [make_pod()]), stub(2)).steps
    enabling = [step.path for step in steps if step.file == "cgroup.subtree_control"]
    assert len(enabling) == 4  # the root, kubepods, besteffort, the pod


def test_raising_goes_from_the_parent_down_and_lowering_from_the_child_up(
    stub: type[StubKernel],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    kernel = stub(1)
    node = make_node()
    small, large = ({"limits": {"cpu": cpu, "memory": memory}} for cpu, memory in (("1", "1Gi"), ("2", "2Gi")))
    execute(_plan(wanted_tree(node, [make_pod(make_container(**small))]), kernel), kernel)
    raising = _plan(wanted_tree(node, [make_pod(make_container(**large))]), kernel)
    quotas = [step.cgroup.count("/") for step in raising.steps if step.file == "cpu.cfs_quota_us"]
    assert quotas == [1, 2]
    execute(raising, kernel)
    lowering = _plan(wanted_tree(node, [make_pod(make_container(**small))]), kernel)
    for file in ("cpu.cfs_quota_us", "memory.limit_in_bytes"):
        assert [step.cgroup.count("/") for step in lowering.steps if step.file == file] == [2, 1]
    assert execute(lowering, kernel).failed == []


def test_a_pod_that_is_gone_is_removed_children_first(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(2)
    execute(_plan(wanted_tree(make_node(), [make_pod(), make_pod(n=2)]), kernel), kernel)
    steps = _plan(wanted_tree(make_node(), [make_pod()]), kernel).steps
    assert [step.action for step in steps] == ["rmdir", "rmdir"]
    assert steps[0].path.startswith(steps[1].path + "/")


def test_a_pod_that_is_gone_but_has_processes_is_kept_and_named(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(2)
    execute(_plan(wanted_tree(make_node(), [make_pod()]), kernel), kernel)
    pod = "kubepods/besteffort/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"
    kernel.files[f"{pod}/cgroup.procs"] = "12\n34"
    plan = _plan(wanted_tree(make_node(), []), kernel)
    assert plan.steps == ()
    assert plan.kept == (f"/{pod}: not wanted, kept: processes 12, 34 live in it",)


def test_a_cgroup_with_another_name_is_left_alone(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = stub(2)
    execute(_plan(wanted_tree(make_node(), [make_pod()]), kernel), kernel)
    kernel.mkdir("kubepods/someone-elses")
    kernel.mkdir("kubepods/besteffort/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001/init.scope")
    assert _plan(wanted_tree(make_node(), [make_pod()]), kernel).steps == ()


def test_a_missing_reserved_cgroup_is_refused(stub: type[StubKernel], make_node: Callable[..., NodeConfig]) -> None:
    node = make_node(enforceNodeAllocatable=["kube-reserved"], kubeReserved={"cpu": "1"}, kubeReservedCgroup="/kube")
    with pytest.raises(ReservedCgroupMissingError, match="/kube: does not exist"):
        _plan(wanted_tree(node, []), stub(1))


def test_of_a_reserved_cgroup_only_what_is_reserved_is_written(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig]
) -> None:
    kernel = stub(1)
    for tree in ("cpu", "memory", "pids"):
        kernel.mkdir(f"{tree}/kube")
    kernel.write("pids/kube/pids.max", "77")
    node = make_node(
        enforceNodeAllocatable=["kube-reserved"], kubeReserved={"cpu": "1500m"}, kubeReservedCgroup="/kube"
    )
    steps = [step.path for step in _plan(wanted_tree(node, []), kernel).steps if "kube/" in step.path]
    assert steps == ["cpu/kube/cpu.shares"]


# -- trees with any quotas that a kernel would take ------------------------------------------------------------

_PATHS = ("a", "a/b", "a/b/c", "a/b/d", "a/e", "a/e/f")
_QUOTAS = st.one_of(
    st.none(),
    st.tuples(st.integers(1000, 400_000), st.sampled_from([1000, 10_000, 50_000, 100_000, 333_333, 1_000_000])),
)


@st.composite
def _legal_limits(draw: Callable[..., Any]) -> dict[str, tuple[int, int] | None]:
    """Quotas of every path, each lifted where a parent would be below it."""
    limits: dict[str, Any] = {}
    for path in _PATHS:
        quota = draw(_QUOTAS)
        bound = min(
            ((limits[up][0] << 20) // limits[up][1] for up in _ancestors(path) if limits[up] is not None), default=None
        )
        if quota is not None and bound is not None and (quota[0] << 20) // quota[1] > bound:
            quota = None
        limits[path] = quota
    return limits


def _ancestors(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _wanted(limits: dict[str, tuple[int, int] | None]) -> list[WantedCgroup]:
    return [
        WantedCgroup(
            path,
            "qos",
            path,
            CgroupLimits(shares=2, quota_us=quota[0] if quota else None, period_us=quota[1] if quota else None),
        )
        for path, quota in limits.items()
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=_legal_limits(), after=_legal_limits(), start=st.integers(0, len(_PATHS)))
def test_any_legal_tree_becomes_any_other_without_an_illegal_step(
    stub: type[StubKernel],
    before: dict[str, tuple[int, int] | None],
    after: dict[str, tuple[int, int] | None],
    start: int,
) -> None:
    kernel = stub(1)
    some = dict(list(before.items())[:start])
    assert execute(_plan(_wanted(some), kernel), kernel).failed == []
    # the stub refuses every write after which a child is over its parent
    assert execute(_plan(_wanted(after), kernel), kernel).failed == []
    assert _plan(_wanted(after), kernel).steps == ()
