"""The fields of a KubeletConfiguration that cgroups depend on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.config import read_config
from cgroup_engine.kubelet.node import NodeConfig


def test_defaults_are_the_kubelets(make_node: Callable[..., NodeConfig]) -> None:
    node = make_node()
    assert (node.driver, node.cgroup_root, node.enforce) == ("cgroupfs", (), frozenset({"pods"}))
    assert (node.cfs.enforced, node.cfs.period_us, node.pod_pids_limit, node.qos_reserved_memory) == (
        True, 100_000, None, None,
    )  # fmt: skip
    assert node.warnings == ()


def test_allocatable_is_capacity_without_both_reservations(make_node: Callable[..., NodeConfig]) -> None:
    node = make_node(kubeReserved={"cpu": "500m", "memory": "1Gi"}, systemReserved={"cpu": "500m", "pid": "1000"})
    assert {name: amount.value() for name, amount in node.allocatable.items()} == {
        "cpu": 3,
        "memory": 7 << 30,
        "pid": 31768,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cgroupsPerQOS": False}, "cgroupsPerQOS: is false"),
        ({"cgroupDriver": "x"}, "cgroupDriver"),
        ({"cgroupRoot": "/../x"}, "cgroupRoot"),
        ({"cgroupRoot": 5}, "cgroupRoot"),
        ({"enforceNodeAllocatable": ["pod"]}, 'enforceNodeAllocatable: "pod" is not known'),
        ({"enforceNodeAllocatable": ["none", "pods"]}, "enforceNodeAllocatable"),
        ({"enforceNodeAllocatable": "pods"}, "enforceNodeAllocatable: is not a list"),
        ({"enforceNodeAllocatable": ["kube-reserved"], "kubeReserved": {"cpu": "1"}}, "kubeReservedCgroup: is missing"),
        ({"enforceNodeAllocatable": ["kube-reserved"], "kubeReservedCgroup": "/k"}, "kubeReserved: is empty"),
        ({"enforceNodeAllocatable": ["kube-reserved"], "kubeReservedCgroup": "/"}, "root cgroup"),
        ({"kubeReserved": {"cpu": "1x"}}, "kubeReserved.cpu"),
        ({"kubeReserved": {"gpu": "1"}}, '"gpu" cannot be reserved'),
        ({"kubeReserved": {"memory": "9Gi"}}, "reserve less"),
        ({"kubeReservedCgroup": "/a/../b"}, "kubeReservedCgroup"),
        ({"evictionHard": {"memory.available": "200%"}}, "evictionHard.memory.available"),
        ({"podPidsLimit": "many"}, "podPidsLimit"),
        ({"cpuCFSQuota": "yes"}, "cpuCFSQuota"),
        ({"cpuCFSQuotaPeriod": "2s"}, "not within 1ms to 1s"),
        ({"cpuCFSQuotaPeriod": "soon"}, "is not a duration"),
        ({"qosReserved": {"cpu": "10%"}}, "qosReserved"),
        ({"qosReserved": {"memory": "10"}}, "qosReserved.memory"),
        ({"featureGates": {"QOSReserved": "true"}}, "featureGates"),
        ({"featureGates": {"PodOverhead": True}}, "featureGates.PodOverhead: a kubelet 1.36 does not have it any more"),
        ({"featureGates": {"NodeSwap": False}}, "featureGates.NodeSwap: cannot be false"),
        ({"memoryReservationPolicy": "TieredReservation"}, "needs a feature gate"),
        ({"memoryReservationPolicy": "Some"}, "memoryReservationPolicy"),
        ({"memoryThrottlingFactor": 1.1}, "memoryThrottlingFactor"),
        ({"memoryThrottlingFactor": 0}, "memoryThrottlingFactor"),
        ({"memorySwap": {"swapBehavior": "UnlimitedSwap"}}, "memorySwap.swapBehavior"),
        ({"memorySwap": {"swapBehavior": "Some"}}, "memorySwap.swapBehavior"),
        ({"systemCgroups": "/", "cgroupRoot": "/"}, "systemCgroups: is the root cgroup"),
        ({"systemCgroups": "/system"}, "systemCgroups: needs cgroupRoot"),
        ({"kubeletCgroups": "/../kubelet"}, "kubeletCgroups"),
        ({"oomScoreAdj": 1001}, "oomScoreAdj"),
        ({"reservedSystemCPUs": "0-"}, "reservedSystemCPUs"),
        ({"reservedSystemCPUs": "4"}, "reservedSystemCPUs"),
        ({"reservedSystemCPUs": "0", "kubeReservedCgroup": "/kube"}, "together with kubeReservedCgroup"),
        ({"enforceNodeAllocatable": ["pods", "pods"]}, "names a key twice"),
    ],
)
def test_what_a_kubelet_would_refuse_is_refused(
    make_node: Callable[..., NodeConfig], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_node(**fields)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "period"), [("10ms", 10_000), ("0.5s", 500_000), ("1500µs", 1500), ("1s", 1_000_000)])
def test_a_period_is_read_as_a_go_duration(make_node: Callable[..., NodeConfig], text: str, period: int) -> None:
    assert make_node(cpuCFSQuotaPeriod=text).cfs.period_us == period


def test_another_period_needs_its_gate_before_1_36(make_node: Callable[..., NodeConfig]) -> None:
    with pytest.raises(ConfigError, match="CustomCPUCFSQuotaPeriod"):
        make_node(minor=35, cpuCFSQuotaPeriod="10ms")
    gated = make_node(minor=35, cpuCFSQuotaPeriod="10ms", featureGates={"CustomCPUCFSQuotaPeriod": True})
    assert gated.cfs.period_us == 10_000


@pytest.mark.parametrize(
    "fields",
    [
        {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"},
        {
            "memoryManagerPolicy": "Static",
            "systemReserved": {"memory": "1Gi"},
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        },
        {"qosReserved": {"memory": "50%"}},
        {"notAField": 1},
    ],
)
def test_a_field_that_is_not_acted_on_is_warned_of_once(
    make_node: Callable[..., NodeConfig], fields: dict[str, Any]
) -> None:
    assert len(make_node(**fields).warnings) == 1


@pytest.mark.parametrize("fields", [{"maxPods": 10}, {"cpuManagerPolicy": "none"}, {"clusterDNS": ["10.0.0.10"]}])
def test_a_field_that_concerns_no_cgroup_is_silent(
    make_node: Callable[..., NodeConfig], fields: dict[str, Any]
) -> None:
    assert make_node(**fields).warnings == ()


def test_the_compressible_keys_are_not_known_before_1_32(make_node: Callable[..., NodeConfig]) -> None:
    fields = {
        "enforceNodeAllocatable": ["kube-reserved-compressible"],
        "kubeReserved": {"cpu": "1"},
        "kubeReservedCgroup": "/kube",
    }
    assert make_node(**fields).kube_reserved_cgroup == ("kube",)
    with pytest.raises(ConfigError):
        make_node(minor=31, **fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("kind: Pod\n", "holds 0 KubeletConfiguration"),
        ("kind: KubeletConfiguration\napiVersion: v1\n", "apiVersion"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_file_without_one_configuration_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_config(path)


def test_a_field_that_a_later_release_brought_is_warned_of(make_node: Callable[..., NodeConfig]) -> None:
    assert "not known before 1.32" in make_node(minor=31, singleProcessOOMKill=True).warnings[0]


def test_a_gate_that_a_later_release_brought_is_refused(make_node: Callable[..., NodeConfig]) -> None:
    with pytest.raises(ConfigError, match="does not know it yet"):
        make_node(minor=31, featureGates={"PodLevelResources": True})


def test_other_gates_are_silent(make_node: Callable[..., NodeConfig]) -> None:
    assert make_node(featureGates={"RotateKubeletServerCertificate": True}).warnings == ()


@pytest.mark.parametrize(
    ("minor", "gates", "settings", "behavior"),
    [
        (24, {}, {}, None),
        (24, {"NodeSwap": True}, {}, "LimitedSwap"),
        (28, {}, {}, "NoSwap"),
        (28, {"NodeSwap": True}, {}, "UnlimitedSwap"),
        (29, {"NodeSwap": True}, {"swapBehavior": "LimitedSwap"}, "LimitedSwap"),
        (30, {}, {}, "NoSwap"),
        (36, {}, {"swapBehavior": "LimitedSwap"}, "LimitedSwap"),
    ],
)
def test_unset_swap_behavior_is_another_in_each_range_of_releases(
    make_node: Callable[..., NodeConfig],
    minor: int,
    gates: dict[str, bool],
    settings: dict[str, str],
    behavior: str | None,
) -> None:
    assert make_node(minor=minor, featureGates=gates, memorySwap=settings).swap_behavior == behavior


def test_the_throttling_factor_was_smaller_before_1_27(make_node: Callable[..., NodeConfig]) -> None:
    assert [make_node(minor=minor).memory_throttling_factor for minor in (26, 27)] == [0.8, 0.9]


@pytest.mark.parametrize(("minor", "single"), [(27, True), (28, None), (31, None), (36, None)])
def test_containers_are_oom_groups_by_default_since_1_28(
    make_node: Callable[..., NodeConfig], minor: int, single: bool | None
) -> None:
    assert make_node(minor=minor).single_process_oom_kill is single


def test_single_process_oom_kill_can_be_set_since_1_32(make_node: Callable[..., NodeConfig]) -> None:
    assert [make_node(singleProcessOOMKill=value).single_process_oom_kill for value in (True, False)] == [True, False]
    assert make_node(minor=31, singleProcessOOMKill=True).single_process_oom_kill is None


def test_reserved_cpus_replace_the_cpu_of_both_reservations(make_node: Callable[..., NodeConfig]) -> None:
    node = make_node(
        reservedSystemCPUs="0,2-3", kubeReserved={"cpu": "100m", "memory": "1Gi"}, systemReserved={"cpu": "200m"}
    )
    assert {name: str(amount) for name, amount in node.kube_reserved.items()} == {"memory": "1Gi"}
    assert {name: str(amount) for name, amount in node.system_reserved.items()} == {"cpu": "3"}


@pytest.mark.parametrize(
    ("fields", "threshold"),
    [
        ({}, 100 << 20),
        ({"evictionHard": {}}, None),
        ({"evictionHard": {"nodefs.available": "10%"}}, None),
        ({"evictionHard": {}, "mergeDefaultEvictionSettings": True}, 100 << 20),
        ({"evictionHard": {"memory.available": "100%"}}, None),
        ({"evictionHard": {"memory.available": "0%"}}, None),
        ({"evictionHard": {"memory.available": "5e1%"}}, 4 << 30),
        ({"evictionHard": {"memory.available": "12.5%"}}, 1 << 30),
        ({"evictionHard": {"memory.available": ".1%"}}, 8589935),
    ],
)
def test_the_hard_eviction_threshold_is_an_amount_or_a_part_of_the_memory(
    make_node: Callable[..., NodeConfig], fields: dict[str, Any], threshold: int | None
) -> None:
    eviction = make_node(**{"evictionHard": None, **fields}).eviction_memory
    assert (eviction.value() if eviction is not None else None) == threshold


def test_a_quota_period_below_1ms_was_taken_before_1_26(make_node: Callable[..., NodeConfig]) -> None:
    fields = {"cpuCFSQuotaPeriod": "500us", "featureGates": {"CustomCPUCFSQuotaPeriod": True}}
    assert make_node(minor=25, **fields).cfs.period_us == 500
    with pytest.raises(ConfigError, match="not within 1ms to 1s"):
        make_node(minor=26, **fields)
