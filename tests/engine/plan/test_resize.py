"""In-place resize of pods: the kubelet's order, its refusals, and the values that it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.cli import main
from cgroup_engine.errors import ResizeRefusedError
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resize_checks import check_fit, check_resize
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.as_applied import TreeAsApplied
from cgroup_engine.plan.resize import resize_plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs

from ..resizes import recorded

SMALL = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
LARGE = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
RESTART = {"resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]}


@pytest.fixture
def two(make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]) -> Callable[..., Pod]:
    """A pod of two containers a and b."""

    def make(
        a: dict[str, Any], b: dict[str, dict[str, str]], minor: int = 36, **spec: dict[str, dict[str, str]]
    ) -> Pod:
        return make_pod(make_container("a", **a), make_container("b", **b), minor=minor, **spec)

    return make


@pytest.fixture
def resized(make_node: Callable[..., NodeConfig]) -> Callable[..., list[tuple[str, str, str]]]:
    """The steps from one pod to another as (whose, file, text), of the pod and its containers."""

    def steps(
        old: Pod, new: Pod, minor: int = 36, every: bool = False, **fields: str | dict[str, str]
    ) -> list[tuple[str, str, str]]:
        node = make_node(minor, **fields)
        plan = resize_plan(node, [old], [new], TreeAsApplied(wanted_tree(node, [old])))
        return [
            (step.owner.removeprefix("default/p1").lstrip("/") or "pod", step.file, step.text)
            for step in plan.steps
            if every or step.owner.startswith("default/p1")
        ]

    return steps


def test_what_grows_grows_from_the_pod_down_memory_first(
    resized: Callable[..., list[tuple[str, str, str]]], two: Callable[..., Pod]
) -> None:
    assert resized(two(SMALL, SMALL), two(LARGE, SMALL)) == [
        ("pod", "memory.max", str(1536 << 20)),
        ("a", "memory.max", str(1 << 30)),
        ("pod", "cpu.max", "300000 100000"),
        ("pod", "cpu.weight", "59"),
        ("a", "cpu.weight", "100"),
        ("a", "cpu.max", "200000 100000"),
    ]


def test_what_shrinks_shrinks_from_the_containers_up(
    resized: Callable[..., list[tuple[str, str, str]]], two: Callable[..., Pod]
) -> None:
    assert resized(two(LARGE, SMALL), two(SMALL, SMALL)) == [
        ("a", "memory.max", str(512 << 20)),
        ("pod", "memory.max", str(1 << 30)),
        ("a", "cpu.weight", "59"),
        ("a", "cpu.max", "100000 100000"),
        ("pod", "cpu.weight", "39"),
        ("pod", "cpu.max", "200000 100000"),
    ]


def test_a_container_that_shrinks_comes_before_one_that_grows(
    resized: Callable[..., list[tuple[str, str, str]]], two: Callable[..., Pod]
) -> None:
    steps = resized(two(SMALL, LARGE), two(LARGE, SMALL))
    assert [owner for owner, file, _ in steps if file == "memory.max"] == ["b", "a"]
    assert "pod" not in {owner for owner, _, _ in steps}


def test_the_classes_grow_before_the_pod_and_shrink_after_it(
    resized: Callable[..., list[tuple[str, str, str]]], two: Callable[..., Pod]
) -> None:
    growing = resized(two(SMALL, SMALL), two(LARGE, SMALL), every=True)
    assert growing[0] == ("Burstable", "cpu.weight", "59")
    assert resized(two(LARGE, SMALL), two(SMALL, SMALL), every=True)[-1] == ("Burstable", "cpu.weight", "39")


def _resources(cpu: str, memory: str, most_cpu: str, most_memory: str) -> dict[str, dict[str, str]]:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": most_cpu, "memory": most_memory}}


BEFORE = (_resources("100m", "32Mi", "200m", "128Mi"), _resources("50m", "16Mi", "300m", "96Mi"))
GROWN = (_resources("200m", "64Mi", "400m", "256Mi"), BEFORE[1])
SHRUNK = (_resources("50m", "16Mi", "150m", "100Mi"), BEFORE[1])
MIXED = (_resources("100m", "16Mi", "300m", "64Mi"), _resources("20m", "32Mi", "100m", "200Mi"))
# The writes of kubelet 1.36.2 when it resized a pod, with containerd 1.6.20 and runc 1.1.5
# (docs/guides/kubelet.md).
KUBELETS = [
    ("v2", BEFORE, GROWN, """memory.max=369098752 a/memory.max=268435456 cpu.max=70000,100000 cpu.weight=10
        a/cpu.weight=8 a/cpu.max=40000,100000"""),
    ("v2", GROWN, SHRUNK, """a/memory.max=104857600 memory.max=205520896 a/cpu.weight=2 a/cpu.max=15000,100000
        cpu.weight=4 cpu.max=45000,100000"""),
    ("v2", SHRUNK, MIXED, """memory.max=276824064 a/memory.max=67108864 b/memory.max=209715200 cpu.weight=5
        b/cpu.weight=1 b/cpu.max=10000,100000 a/cpu.weight=4 a/cpu.max=30000,100000 cpu.max=40000,100000"""),
    ("v1", BEFORE, GROWN, """memory.limit_in_bytes=369098752 a/memory.memsw.limit_in_bytes=268435456
        a/memory.limit_in_bytes=268435456 cpu.cfs_quota_us=70000 cpu.shares=256 a/cpu.shares=204
        a/cpu.cfs_quota_us=40000"""),
    ("v1", GROWN, SHRUNK, """a/memory.limit_in_bytes=104857600 a/memory.memsw.limit_in_bytes=104857600
        memory.limit_in_bytes=205520896 a/cpu.shares=51 a/cpu.cfs_quota_us=15000 cpu.shares=102
        cpu.cfs_quota_us=45000"""),
    ("v1", SHRUNK, MIXED, """memory.limit_in_bytes=276824064 a/memory.limit_in_bytes=67108864
        a/memory.memsw.limit_in_bytes=67108864 b/memory.memsw.limit_in_bytes=209715200
        b/memory.limit_in_bytes=209715200 cpu.shares=122 b/cpu.shares=20 b/cpu.cfs_quota_us=10000 a/cpu.shares=102
        a/cpu.cfs_quota_us=30000 cpu.cfs_quota_us=40000"""),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "old", "new", "writes"), KUBELETS)
def test_the_writes_are_those_of_a_kubelet_and_its_runtime(
    make_node: Callable[..., NodeConfig],
    two: Callable[..., Pod],
    layout: str,
    old: tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]],
    new: tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]],
    writes: str,
) -> None:
    node = replace(make_node(), weight_formulas={"container": "linear"})
    found = _applied(KernelFs(Kernel(layout)), node, [two(*old)])
    steps = resize_plan(node, [two(*old)], [two(*new)], found).steps
    of = {"default/p1": "", "default/p1/a": "a/", "default/p1/b": "b/"}
    shown = [f"{of[step.owner]}{step.file}={step.text}".replace(" ", ",") for step in steps if step.owner in of]
    assert shown == writes.split()


def test_the_same_is_no_step(resized: Callable[..., list[tuple[str, str, str]]], two: Callable[..., Pod]) -> None:
    assert resized(two(SMALL, LARGE), two(SMALL, LARGE), every=True) == []


def test_memory_protection_of_the_pod_follows_though_a_kubelet_forgets_it(
    make_node: Callable[..., NodeConfig], two: Callable[..., Pod]
) -> None:
    node = make_node(featureGates={"MemoryQoS": True}, memoryReservationPolicy="TieredReservation")
    old, new = two(SMALL, SMALL), two(LARGE, SMALL)
    plan = resize_plan(node, [old], [new], TreeAsApplied(wanted_tree(node, [old])))
    [step] = [step for step in plan.steps if step.file == "memory.low" and step.owner == "default/p1"]
    assert (step.before, step.text) == (str(512 << 20), str(768 << 20))
    assert "a kubelet leaves it as it was" in step.why
    newest = make_node(37, memoryReservationPolicy="TieredReservation")  # change 140262, from the pull request
    plan = resize_plan(newest, [old], [new], TreeAsApplied(wanted_tree(newest, [old])))
    [step] = [step for step in plan.steps if step.file == "memory.low" and step.owner == "default/p1"]
    assert "a kubelet leaves it" not in step.why


def test_since_1_37_the_pods_memory_high_follows(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    """Change 140262, from the pull request: doPodResizeAction calls ApplyPodLevelMemoryHigh too."""
    node = make_node(37, memoryThrottlingFactor=0.5)
    old, new = (
        make_pod(make_container(), minor=37, resources={"requests": {"memory": "1Gi"}, "limits": {"memory": limit}})
        for limit in ("2Gi", "3Gi")
    )
    plan = resize_plan(node, [old], [new], TreeAsApplied(wanted_tree(node, [old])))
    steps = [(step.file, step.text) for step in plan.steps if step.owner == "default/p1"]
    assert steps == [("memory.max", str(3 << 30)), ("memory.high", str(2 << 30))]


def test_a_container_that_is_to_restart_is_made_anew_last(
    resized: Callable[..., list[tuple[str, str, str]]], two: Callable[..., Pod]
) -> None:
    steps = resized(two(SMALL | RESTART, SMALL), two(LARGE | RESTART, SMALL))
    owners = [owner for owner, _, _ in steps]
    assert owners.index("a") > max(n for n, owner in enumerate(owners) if owner == "pod")
    assert ("a", "memory.max", str(1 << 30)) in steps


def test_a_pods_own_limit_moves_the_containers_without_one(
    resized: Callable[..., list[tuple[str, str, str]]],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    old, new = (
        make_pod(make_container("a"), resources={"limits": {"cpu": cpu, "memory": "1Gi"}}) for cpu in ("1", "2")
    )
    assert resized(old, new) == [
        ("pod", "cpu.max", "200000 100000"),
        ("pod", "cpu.weight", "79"),
        ("a", "cpu.weight", "174"),
        ("a", "cpu.max", "200000 100000"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "minor", "spec", "why"),
    [
        (SMALL, LARGE, 26, {}, "came with 1.27"),
        (SMALL, LARGE, 32, {}, "needs featureGates.InPlacePodVerticalScaling"),
        (SMALL, {"limits": SMALL["limits"]}, 36, {}, "QoS class may not change"),
        (SMALL, {"requests": SMALL["requests"]}, 36, {}, "a: limits.cpu cannot be removed"),
        (LARGE, SMALL, 33, {}, "in 1.33 memory limits go down only with resizePolicy"),
        (SMALL, {**SMALL, "limits": {**SMALL["limits"], "hugepages-2Mi": "2Mi"}}, 36, {}, "only cpu and memory can"),
        (SMALL, LARGE, 34, {"resources": {"limits": {"cpu": "9"}}}, "InPlacePodLevelResourcesVerticalScaling"),
    ],
)
def test_what_is_refused(
    resized: Callable[..., list[tuple[str, str, str]]],
    two: Callable[..., Pod],
    old: dict[str, dict[str, str]],
    new: dict[str, dict[str, str]],
    minor: int,
    spec: dict[str, dict[str, dict[str, str]]],
    why: str,
) -> None:
    other = {"limits": new["limits"]} if "QoS" in why else SMALL
    with pytest.raises(ResizeRefusedError, match=why):
        resized(two(old, SMALL, minor, **spec), two(new, other, minor, **spec), minor)


def test_containers_stay_the_same(
    resized: Callable[..., list[tuple[str, str, str]]],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    with pytest.raises(ResizeRefusedError, match="cannot be added, removed, renamed or moved"):
        resized(make_pod(make_container("a", **SMALL)), make_pod(make_container("b", **LARGE)))


def test_guaranteed_pods_with_cpus_of_their_own_are_refused(
    resized: Callable[..., list[tuple[str, str, str]]],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    old, new = (make_pod(make_container(limits={"cpu": cpu, "memory": "1Gi"})) for cpu in ("1", "2"))
    with pytest.raises(ResizeRefusedError, match="cpuManagerPolicy static"):
        resized(old, new, cpuManagerPolicy="static", systemReserved={"cpu": "1"})


def _node_of(row: dict[str, Any], make_node: Callable[..., NodeConfig]) -> NodeConfig:
    """The node of a recorded refusal: 4 CPUs and 8 GiB, all allocatable."""
    fields: dict[str, Any] = {"featureGates": row.get("gates", {})}
    if row.get("cpu_manager") == "static":
        fields |= {"cpuManagerPolicy": "static", "systemReserved": {"cpu": "1"}}
    if row.get("swap"):
        fields["memorySwap"] = {"swapBehavior": row["swap"]}
    node = make_node(swap=4 << 30, **fields)
    policy = row.get("memory_manager") or node.memory_manager_policy
    return replace(node, memory_manager_policy=policy, cgroup_version=2 if row["v2"] else 1)


@pytest.mark.parametrize("row", recorded("refusal"))
def test_a_resize_is_refused_where_the_kubelet_refuses_it(
    row: dict[str, Any], make_node: Callable[..., NodeConfig]
) -> None:
    """podResizesAdmitHandler and predicateAdmitHandler of 1.36.2 (Admit) were asked."""
    node = _node_of(row, make_node)
    pods = [row["allocated"], row["desired"], *(row.get("others") or [])]
    old, new, *others = [pod_from_object(item, "test", node.version) for item in pods]
    refused = ""
    try:
        check_resize(node, old, new)
        if "allocatable" in row:
            check_fit(node, new, others)
    except ResizeRefusedError as error:
        refused = str(error)
    assert (refused == "") == row["answer"]["admit"], refused or row["answer"]["message"]


def test_a_plan_refuses_what_the_node_has_no_room_for(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    small, large = (make_pod(make_container("a", requests={"cpu": cpu})) for cpu in ("1", "2"))
    node, other = make_node(), make_pod(make_container("b", requests={"cpu": "2500m"}), n=2)
    found = TreeAsApplied(wanted_tree(node, [small, other]))
    with pytest.raises(ResizeRefusedError, match="requests 2000 millicores of cpu, and 4000 are allocatable, of which"):
        resize_plan(node, [small, other], [large, other], found)
    assert resize_plan(node, [small], [large], TreeAsApplied(wanted_tree(node, [small]))).steps


def test_a_critical_pod_finds_room_by_eviction(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node, other = make_node(), make_pod(make_container(requests={"cpu": "3"}), n=2)
    critical = make_pod(make_container(requests={"cpu": "2"}), priority=2_000_000_000)
    check_fit(node, critical, [other])
    with pytest.raises(ResizeRefusedError, match="4000 are allocatable"):
        check_fit(node, make_pod(make_container(requests={"cpu": "5"}), priority=2_000_000_000), [other])


def test_up_to_1_33_a_static_manager_refuses_every_change(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    """From the pull requests: 132473 tells the managers' resources apart, in 1.34."""
    old, new = (make_pod(make_container(limits={"cpu": cpu, "memory": "1Gi"}), minor=33) for cpu in ("1", "2"))
    static = {
        "memoryManagerPolicy": "Static",
        "systemReserved": {"memory": "1Gi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    }
    with pytest.raises(ResizeRefusedError, match="memoryManagerPolicy Static"):
        check_resize(make_node(33, **static), old, new)
    check_resize(make_node(34, **static), old, new)


@pytest.mark.parametrize("minor", [35, 36])
def test_init_containers_can_be_resized_since_1_36(
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    minor: int,
) -> None:
    """IsResizableContainer: the gate InPlacePodVerticalScalingInitContainers."""
    old, new = (
        make_pod(make_container(**SMALL), minor=minor, initContainers=[make_container("i", **resources)])
        for resources in (SMALL, LARGE)
    )
    if minor >= 36:
        check_resize(make_node(minor), old, new)
    else:
        with pytest.raises(ResizeRefusedError, match="init containers cannot be resized"):
            check_resize(make_node(minor), old, new)


def test_pods_that_are_only_in_one_are_refused(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    node, old, new = make_node(), make_pod(n=1), make_pod(n=2)
    with pytest.raises(ResizeRefusedError, match="only in one of both"):
        resize_plan(node, [old], [new], TreeAsApplied(wanted_tree(node, [old])))


class InUse(KernelFs):
    """A root on which every cgroup uses 700 MiB."""

    def read(self, path: str) -> str:
        return str(700 << 20) if path.endswith(("memory.current", "usage_in_bytes")) else super().read(path)


def _applied(fs: InUse | KernelFs, node: NodeConfig, pods: list[Pod]) -> FoundTree:
    execute(make_plan(wanted_tree(node, pods), FoundTree(fs, detect(fs, "model")), node.driver), fs)
    return FoundTree(fs, detect(fs, "model"))


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_a_limit_below_what_is_in_use_is_refused(
    make_node: Callable[..., NodeConfig], two: Callable[..., Pod], layout: str
) -> None:
    node, old = make_node(), two(LARGE, LARGE)
    found = _applied(InUse(Kernel(layout, "6.1")), node, [old])
    with pytest.raises(ResizeRefusedError, match="536870912 bytes for a, of which 734003200 are in use"):
        resize_plan(node, [old], [two(SMALL, LARGE)], found)


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_before_1_34_only_the_pods_limit_is_compared_with_what_is_in_use(
    make_node: Callable[..., NodeConfig], two: Callable[..., Pod], layout: str
) -> None:
    node = make_node(32, featureGates={"InPlacePodVerticalScaling": True})
    old = two(LARGE, LARGE, 32)
    found = _applied(InUse(Kernel(layout, "6.1")), node, [old])
    assert resize_plan(node, [old], [two(SMALL, LARGE, 32)], found).steps
    less = {"requests": SMALL["requests"], "limits": {"cpu": "1", "memory": "256Mi"}}
    with pytest.raises(ResizeRefusedError, match="536870912 bytes for the pod, of which 734003200 are in use"):
        resize_plan(node, [old], [two(less, less, 32)], found)


@pytest.mark.parametrize(("layout", "version"), [("v1", "5.10"), ("v1", "6.1"), ("v2", "6.12"), ("v2", "7.2")])
def test_every_step_is_legal_and_the_result_is_as_wanted(
    make_node: Callable[..., NodeConfig], two: Callable[..., Pod], layout: str, version: str
) -> None:
    node = make_node(featureGates={"MemoryQoS": True}, memoryReservationPolicy="TieredReservation")
    fs = KernelFs(Kernel(layout, version))
    pods = [two(SMALL, SMALL), two(LARGE, SMALL), two(SMALL, LARGE), two(SMALL, SMALL)]
    _applied(fs, node, pods[:1])
    for old, new in pairwise(pods):
        plan = resize_plan(node, [old], [new], FoundTree(fs, detect(fs, "model")))
        assert plan.steps
        assert execute(plan, fs).failed == []
        found = FoundTree(fs, detect(fs, "model"))
        assert make_plan(wanted_tree(node, [new]), found, node.driver).steps == ()


def test_the_command_plans_from_old_to_new_without_a_root(
    tmp_path: Path,
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, resources in (("old", SMALL), ("new", LARGE)):
        (tmp_path / f"{name}.json").write_text(json.dumps(make_object(make_container(**resources))))
    arguments = ["plan", "--cpus", "4", "--memory", "8Gi", "--from", str(tmp_path / "old.json"), "-o", "json"]
    assert main([*arguments, str(tmp_path / "new.json")]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["layout"] == "v2"
    assert [step["path"].rpartition("/")[2] for step in plan["steps"]] == [
        "cpu.weight", "memory.max", "memory.max", "cpu.max", "cpu.weight", "cpu.weight", "cpu.max",
    ]  # fmt: skip
    assert main([*arguments, "--kubelet-version", "1.30", str(tmp_path / "new.json")]) == 1
    assert "default/p1: is not resized in place" in capsys.readouterr().err


def test_a_plan_without_a_root_needs_the_old_pods(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(example / "three-pods.yaml")]) == 2
    assert "--root is required" in capsys.readouterr().err
