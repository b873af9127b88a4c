"""The wanted tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup

GUARANTEED = {"limits": {"cpu": "1", "memory": "1Gi"}}


def _by_path(cgroups: tuple[WantedCgroup, ...]) -> dict[str, WantedCgroup]:
    return {cgroup.path: cgroup for cgroup in cgroups}


def test_parents_come_before_children(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    seen = {""}
    for cgroup in wanted_tree(make_node(cgroupRoot="/a/b"), [make_pod(make_container(**GUARANTEED))]):
        assert cgroup.parent in seen
        seen.add(cgroup.path)


def test_without_pods_there_are_kubepods_and_two_classes(make_node: Callable[..., NodeConfig]) -> None:
    assert [cgroup.path for cgroup in wanted_tree(make_node(), [])] == [
        "kubepods", "kubepods/burstable", "kubepods/besteffort",
    ]  # fmt: skip


def test_the_node_has_capacity_if_pods_are_not_enforced(make_node: Callable[..., NodeConfig]) -> None:
    fields = {"kubeReserved": {"memory": "1Gi", "cpu": "1"}}
    assert _by_path(wanted_tree(make_node(**fields), []))["kubepods"].limits.memory == 7 << 30
    free = wanted_tree(make_node(enforceNodeAllocatable=[], **fields), [])
    assert _by_path(free)["kubepods"].limits == CgroupLimits(4096, memory=8 << 30, pids=32768, weight=157)


def test_burstable_has_the_sum_of_its_pods_requests(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pods = [make_pod(make_container(requests={"cpu": "300m"}), n=n) for n in (1, 2)]
    pods.append(make_pod(make_container(**GUARANTEED), n=3))
    tree = _by_path(wanted_tree(make_node(), pods))
    assert tree["kubepods/burstable"].limits.shares == 614
    assert tree["kubepods/besteffort"].limits.shares == 2


def test_the_pod_pids_limit_is_on_pods_alone(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    tree = wanted_tree(make_node(podPidsLimit=100), [make_pod()])
    assert [cgroup.limits.pids for cgroup in tree if cgroup.level in ("qos", "pod", "container")] == [
        None, None, 100, None,
    ]  # fmt: skip


def test_overhead_is_on_the_pod_and_not_on_its_container(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(**GUARANTEED), overhead={"cpu": "250m", "memory": "100Mi"})
    levels = {cgroup.level: cgroup.limits for cgroup in wanted_tree(make_node(), [pod])}
    assert levels["pod"] == CgroupLimits(1280, 125_000, 100_000, (1 << 30) + (100 << 20), weight=49)
    assert levels["container"] == CgroupLimits(1024, 100_000, 100_000, 1 << 30, swap=0, oom_group=True, weight=100)


def test_a_burstable_pod_with_an_unlimited_container_is_not_limited(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container("a", limits={"cpu": "1", "memory": "1Gi"}), make_container("b"))
    levels = {cgroup.owner: cgroup.limits for cgroup in wanted_tree(make_node(), [pod])}
    assert levels["default/p1"] == CgroupLimits(shares=1024, weight=39)


def test_no_cfs_quota_means_no_limit_anywhere(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    tree = wanted_tree(make_node(cpuCFSQuota=False), [make_pod(make_container(**GUARANTEED))])
    levels = {cgroup.level: cgroup.limits for cgroup in tree}
    assert levels["pod"].quota_us == -1
    assert levels["container"].quota_us is None


def test_an_explicit_zero_request_counts_from_1_25_on(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    shares = {}
    for minor in (24, 25):
        pod = make_pod(make_container(requests={"cpu": "0"}, limits={"cpu": "1"}), minor=minor)
        tree = wanted_tree(make_node(minor=minor), [pod])
        shares[minor] = next(cgroup.limits.shares for cgroup in tree if cgroup.level == "container")
    assert shares == {24: 1024, 25: 2}


def test_a_reservation_of_nothing_is_not_written(make_node: Callable[..., NodeConfig]) -> None:
    node = make_node(
        enforceNodeAllocatable=["pods", "kube-reserved"],
        kubeReserved={"cpu": "100m", "memory": "0"},
        kubeReservedCgroup="/kube",
    )
    assert _by_path(wanted_tree(node, []))["kube"].limits == CgroupLimits(shares=102, weight=4)


def test_compressible_enforcement_is_cpu_alone(make_node: Callable[..., NodeConfig]) -> None:
    node = make_node(
        enforceNodeAllocatable=["pods", "kube-reserved-compressible"],
        kubeReserved={"cpu": "100m", "memory": "1Gi", "pid": "10"},
        kubeReservedCgroup="/kube",
    )
    assert _by_path(wanted_tree(node, []))["kube"].limits == CgroupLimits(shares=102, weight=4)


def test_qos_reserved_takes_requests_from_the_lower_classes(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(featureGates={"QOSReserved": True}, qosReserved={"memory": "50%"})
    pods = [
        make_pod(make_container(**GUARANTEED), n=1),
        make_pod(make_container(requests={"memory": "2Gi"}), n=2),
    ]
    tree = _by_path(wanted_tree(node, pods))
    assert tree["kubepods/burstable"].limits.memory == (8 << 30) - (512 << 20)
    assert tree["kubepods/besteffort"].limits.memory == (8 << 30) - (512 << 20) - (1 << 30)


def test_reserving_more_than_there_is_leaves_less_than_nothing(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(featureGates={"QOSReserved": True}, qosReserved={"memory": "100%"})
    tree = _by_path(wanted_tree(node, [make_pod(make_container(limits={"cpu": "1", "memory": "9Gi"}))]))
    assert tree["kubepods/burstable"].limits.memory == -1 << 30
    assert "which the kernel refuses" in tree["kubepods/burstable"].why("memory")


def test_every_value_that_is_set_has_its_rule(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(podPidsLimit=5, kubeReserved={"cpu": "1"})
    for cgroup in wanted_tree(node, [make_pod(make_container(**GUARANTEED)), make_pod(n=2)]):
        for field in ("shares", "quota", "memory", "pids"):
            if getattr(cgroup.limits, {"quota": "quota_us"}.get(field, field)) is not None:
                assert cgroup.reasons[field].why, cgroup.path


def test_systemd_names_are_slices_and_scopes(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    paths = [cgroup.path for cgroup in wanted_tree(make_node(driver="systemd", cgroupRoot="/fcg-a"), [make_pod()])]
    assert paths[:2] == ["fcg_a.slice", "fcg_a.slice/fcg_a-kubepods.slice"]
    assert paths[-1].endswith(".scope")


def test_a_pod_that_has_ended_has_no_cgroup_and_counts_nowhere(
    make_node: Callable[..., NodeConfig],
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    item = make_object(make_container(requests={"cpu": "1"}))
    item["status"] = {"phase": "Succeeded"}
    tree = _by_path(wanted_tree(make_node(), [pod_from_object(item, "test", KubeletVersion())]))
    assert list(tree) == ["kubepods", "kubepods/burstable", "kubepods/besteffort"]
    assert tree["kubepods/burstable"].limits.shares == 2


def _node_with_huge_pages(make_node: Callable[..., NodeConfig], **fields: Any) -> NodeConfig:
    return replace(make_node(**fields), huge_pages={2 << 20: 128 << 20})


def test_huge_pages_are_unbounded_above_the_pods(make_node: Callable[..., NodeConfig]) -> None:
    tree = _by_path(wanted_tree(_node_with_huge_pages(make_node), []))
    assert {cgroup.limits.hugepages[2 << 20] for cgroup in tree.values()} == {1 << 62}


def test_parents_come_before_children_and_reserved_cgroups_else_first(make_node: Callable[..., NodeConfig]) -> None:
    def paths(system: str, kube: str) -> list[str]:
        node = make_node(
            cgroupRoot="/a/b",
            enforceNodeAllocatable=["pods", "system-reserved", "kube-reserved"],
            systemReserved={"cpu": "1"},
            systemReservedCgroup=system,
            kubeReserved={"cpu": "1"},
            kubeReservedCgroup=kube,
        )
        return [cgroup.path for cgroup in wanted_tree(node, [])]

    pods = ["a/b/kubepods", "a/b/kubepods/burstable", "a/b/kubepods/besteffort"]
    assert paths("/s", "/k") == ["s", "k", "a", "a/b", *pods]
    assert paths("/a/b/s", "/a/k") == ["a", "a/k", "a/b", "a/b/s", *pods]
    assert paths("/a/s", "/a/k") == ["a", "a/s", "a/k", "a/b", *pods]
    assert paths("/k/s", "/k") == ["k", "k/s", "a", "a/b", *pods]
    assert paths("/a/b/kubepods/s", "/k") == ["k", "a", "a/b", pods[0], "a/b/kubepods/s", *pods[1:]]


def test_a_reserved_cgroup_has_no_huge_pages(make_node: Callable[..., NodeConfig]) -> None:
    fields: dict[str, Any] = {"kubeReserved": {"cpu": "1"}, "kubeReservedCgroup": "/kube"}
    for key in ("kube-reserved", "kube-reserved-compressible"):
        tree = _by_path(wanted_tree(_node_with_huge_pages(make_node, enforceNodeAllocatable=[key], **fields), []))
        assert tree["kube"].limits.hugepages == {2 << 20: 0}


def test_memory_qos_protects_what_is_requested_and_what_is_reserved(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    gates = {"featureGates": {"MemoryQoS": True}, "memoryReservationPolicy": "TieredReservation"}
    reserved = {
        "enforceNodeAllocatable": ["pods", "kube-reserved"],
        "kubeReserved": {"memory": "1Gi"},
        "kubeReservedCgroup": "/kube",
    }
    pods = [make_pod(make_container(**GUARANTEED), n=1), make_pod(make_container(requests={"memory": "1Mi"}), n=2)]
    tree = _by_path(wanted_tree(make_node(**gates, **reserved), pods))
    assert tree["kube"].limits.memory_min == 1 << 30
    assert tree["kubepods"].limits.memory_min == (1 << 30) + (1 << 20)
    assert tree["kubepods/burstable"].limits.memory_low == 1 << 20
    assert tree["kubepods/besteffort"].limits.unified == {}


def test_a_class_with_nothing_left_is_not_limited(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node(featureGates={"QOSReserved": True}, qosReserved={"memory": "100%"})
    tree = _by_path(wanted_tree(node, [make_pod(make_container(limits={"cpu": "1", "memory": "8Gi"}))]))
    assert tree["kubepods/burstable"].limits.memory is None
    assert "no limit" in tree["kubepods/burstable"].why("memory")


@pytest.mark.parametrize(("minor", "pids"), [(35, None), (36, 1)])
def test_no_tasks_are_one_task_since_1_36(make_node: Callable[..., NodeConfig], minor: int, pids: int | None) -> None:
    node = make_node(minor=minor, systemReserved={"pid": "40000"})
    assert _by_path(wanted_tree(node, []))["kubepods"].limits.pids == pids


def test_sandboxes_are_there_on_request(make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]) -> None:
    tree = _by_path(wanted_tree(replace(make_node(), sandboxes=True), [make_pod()]))
    [sandbox] = [cgroup for cgroup in tree.values() if cgroup.owner == "default/p1 sandbox"]
    assert (sandbox.limits.shares, sandbox.limits.weight, sandbox.limits.memory) == (2, 1, None)
    assert sandbox.oom_score_adj == -998
    assert not any("sandbox" in cgroup.owner for cgroup in wanted_tree(make_node(), [make_pod()]))


@pytest.mark.parametrize(("version", "place"), [(1, "system.slice/containerd.service"), (2, "system.slice")])
def test_containers_are_beside_containerd_if_only_the_kubelet_uses_systemd(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], version: Literal[1, 2], place: str
) -> None:
    node = replace(make_node(driver="systemd", runtime_driver="cgroupfs"), cgroup_version=version)
    tree = wanted_tree(node, [make_pod()])
    [container] = [cgroup for cgroup in tree if cgroup.level == "container"]
    assert container.parent == place
    assert container.path.split("/")[-1].startswith(
        "kubepods-besteffort-pod0aa1a5e2_0b3f_4d0e_8f31_000000000001.slice:"
    )
    seen = {""}
    for cgroup in tree:
        assert cgroup.parent in seen
        seen.add(cgroup.path)


@pytest.mark.parametrize(
    ("driver", "runtime", "runtime_driver"),
    [("cgroupfs", "containerd", "systemd"), ("systemd", "crio", "cgroupfs"), ("systemd", "docker", "cgroupfs")],
)
def test_drivers_with_which_no_container_starts_are_refused(
    make_node: Callable[..., NodeConfig], driver: str, runtime: str, runtime_driver: str
) -> None:
    with pytest.raises(ConfigError, match="no container starts"):
        make_node(driver=driver, runtime=runtime, runtime_driver=runtime_driver)


def test_huge_pages_of_the_pod_reach_it_since_1_33_and_its_containers_since_1_34(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    page, limits = 2 << 20, {}
    for minor in (33, 34):
        gates = {"PodLevelResources": True}
        node = make_node(minor=minor, huge_pages={page: 64 * page}, featureGates=gates)
        level = {"limits": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}}
        pod = make_pod(make_container(limits={"memory": "1Gi"}), minor=minor, gates=gates, resources=level)
        limits[minor] = [cgroup.limits.hugepages[page] for cgroup in wanted_tree(node, [pod])[-2:]]
    assert limits == {33: [2 * page, 0], 34: [2 * page, 2 * page]}
