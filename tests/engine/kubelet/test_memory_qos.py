"""MemoryQoS by release; the values of 1.32 and 1.36 are held against the kubelet's own in test_kubelet_pods."""

from __future__ import annotations

import pytest

from cgroup_engine.kubelet.memory_qos import container_protection, memory_high, pod_protection
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass

OLD, NEW = KubeletVersion(35), KubeletVersion(36)
MIB = 1 << 20


@pytest.mark.parametrize("qos", ["Guaranteed", "Burstable"])
def test_before_1_36_every_request_is_memory_min(qos: QosClass) -> None:
    assert pod_protection(MIB, qos, "None", OLD) == container_protection(MIB, qos, "None", OLD) == (MIB, None)


@pytest.mark.parametrize(("qos", "expected"), [("Guaranteed", (MIB, None)), ("Burstable", (None, MIB))])
def test_tiers_protect_guaranteed_pods_harder(qos: QosClass, expected: tuple[int | None, int | None]) -> None:
    assert pod_protection(MIB, qos, "TieredReservation", NEW) == expected


def test_without_a_policy_containers_are_told_so_and_pods_are_not() -> None:
    assert pod_protection(MIB, "Guaranteed", "None", NEW) == (None, None)
    assert container_protection(MIB, "Guaranteed", "None", NEW) == (0, 0)


def test_memory_high_lies_between_request_and_limit_on_a_page() -> None:
    assert memory_high(100 * MIB, 200 * MIB, 0, 0.9, NEW) == 190 * MIB
    assert memory_high(100 * MIB + 1, 200 * MIB, 0, 0.9, NEW) == 190 * MIB


def test_before_1_27_memory_high_is_a_part_of_the_limit() -> None:
    assert memory_high(100 * MIB, 200 * MIB, 0, 0.8, KubeletVersion(26)) == 160 * MIB
    assert memory_high(180 * MIB, 200 * MIB, 0, 0.8, KubeletVersion(26)) is None


def test_without_a_limit_the_nodes_allocatable_memory_counts() -> None:
    assert memory_high(0, 0, 1000 * MIB, 0.9, NEW) is None
    assert memory_high(100 * MIB, 0, 1100 * MIB, 0.9, NEW) == 1000 * MIB
    assert memory_high(0, 0, 1000 * MIB, 0.8, KubeletVersion(26)) == 800 * MIB


def test_who_may_use_all_it_asks_for_is_not_throttled() -> None:
    assert memory_high(MIB, MIB, 0, 0.9, NEW) is None
