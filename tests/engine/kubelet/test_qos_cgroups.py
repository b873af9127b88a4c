"""The values of the QoS classes' cgroups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.kubelet.qos_cgroups import (
    RequestSums,
    memory_protection,
    memory_reserve,
    qos_limits,
    qos_shares,
    request_sums,
)
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.pod import Pod

SUMS = RequestSums(
    {"Guaranteed": 1000, "Burstable": 500, "BestEffort": 0}, {"Guaranteed": 1000, "Burstable": 333, "BestEffort": 0}
)
NOTHING = RequestSums({"Guaranteed": 0, "Burstable": 0}, {"Guaranteed": 0, "Burstable": 0})


def test_requests_are_summed_by_class(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pods = [
        make_pod(make_container(limits={"cpu": "1", "memory": "1Gi"}), n=1),
        make_pod(make_container(requests={"cpu": "300m"}), n=2),
        make_pod(make_container(requests={"cpu": "100500u", "memory": "1"}), n=3),
        make_pod(n=4),
    ]
    sums = request_sums(pods, KubeletVersion())
    assert sums.milli_cpu == {"Guaranteed": 1000, "Burstable": 300 + 101, "BestEffort": 0}
    assert sums.memory == {"Guaranteed": 1 << 30, "Burstable": 1, "BestEffort": 0}


def test_shares_are_of_the_sum_and_of_nothing() -> None:
    assert qos_shares(SUMS) == {"Burstable": 512, "BestEffort": 2}


def test_the_reserve_is_a_part_of_what_the_higher_classes_request() -> None:
    assert memory_reserve(SUMS, 50, 10_000) == {"Burstable": 9500, "BestEffort": 9500 - 166}


def test_nothing_is_reserved_of_nothing() -> None:
    assert memory_reserve(SUMS, 50, 0) == {}


@pytest.mark.parametrize(
    ("minor", "tiered", "guaranteed", "burstable"),
    [
        (35, False, CgroupLimits(memory_min=1333), CgroupLimits(memory_min=333)),
        (36, False, CgroupLimits(memory_min=0), CgroupLimits(memory_low=0)),
        (36, True, CgroupLimits(memory_min=1333), CgroupLimits(memory_low=333)),
    ],
)
def test_memory_is_protected_as_the_release_does(
    minor: int, tiered: bool, guaranteed: CgroupLimits, burstable: CgroupLimits
) -> None:
    protection = memory_protection(SUMS, KubeletVersion(minor), tiered=tiered)
    assert protection == {"Guaranteed": guaranteed, "Burstable": burstable}


def test_before_1_36_no_requests_are_no_value() -> None:
    assert memory_protection(NOTHING, KubeletVersion(35), tiered=False)["Guaranteed"].unified == {}


def test_huge_pages_are_unbounded_in_every_class() -> None:
    for qos in ("Guaranteed", "Burstable", "BestEffort"):
        assert qos_limits(qos, SUMS, KubeletVersion(), page_sizes=[2 << 20]).hugepages == {2 << 20: 1 << 62}


def test_the_memory_sums_count_spec_resources_without_their_gate(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(
        make_container(requests={"cpu": "1"}), resources={"requests": {"memory": "1Gi", "cpu": "2"}}, minor=33
    )
    sums = request_sums([pod], KubeletVersion(33))
    assert (sums.milli_cpu["Burstable"], sums.memory["Burstable"]) == (1000, 1 << 30)
