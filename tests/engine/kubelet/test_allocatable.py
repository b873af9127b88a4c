"""The part of a node that is left for pods."""

from __future__ import annotations

from collections.abc import Mapping

from cgroup_engine.kubelet.allocatable import allocatable, node_limits, reported_allocatable, reservation
from cgroup_engine.model.quantity import Quantity, parse

CAPACITY = {"cpu": parse("4"), "memory": parse("8Gi"), "hugepages-2Mi": parse("1Gi")}
KUBE, SYSTEM = {"cpu": parse("500m"), "memory": parse("1Gi")}, {"cpu": parse("4")}


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def test_the_cgroups_have_capacity_without_the_reservations() -> None:
    assert _texts(allocatable(CAPACITY, KUBE, SYSTEM)) == {"cpu": "0", "memory": "7Gi", "hugepages-2Mi": "1Gi"}


def test_the_node_reports_less_memory_by_the_threshold_and_the_huge_pages() -> None:
    kept = reservation(CAPACITY, KUBE, SYSTEM, parse("512Mi"))
    assert _texts(reported_allocatable(CAPACITY, kept)) == {"cpu": "0", "memory": "5632Mi", "hugepages-2Mi": "1Gi"}


def test_more_huge_pages_than_memory_leave_none() -> None:
    capacity = {"memory": parse("1Gi"), "hugepages-1Gi": parse("2Gi")}
    assert reported_allocatable(capacity, {})["memory"].is_zero()


def test_amounts_of_huge_pages_are_limits_by_size() -> None:
    assert node_limits(CAPACITY).hugepages == {2 << 20: 1 << 30}
    assert node_limits(CAPACITY, compressible_only=True).hugepages == {}
