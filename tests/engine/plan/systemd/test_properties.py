"""Interface files as unit properties."""

from __future__ import annotations

from typing import Any

import pytest

from cgroup_engine.kubelet.shares import systemd_quota
from cgroup_engine.plan.systemd.properties import INFINITY, known_controllers, resource_properties, shown_properties


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.weight": "59"}, [("CPUWeight", ("t", 59))]),
        ({"cpu.shares": "1024"}, [("CPUShares", ("t", 1024))]),
        ({"memory.max": "max"}, [("MemoryMax", ("t", INFINITY))]),
        ({"memory.limit_in_bytes": "-1"}, [("MemoryLimit", ("t", INFINITY))]),
        ({"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"}, [("MemoryLimit", ("t", 4096))]),
        ({"memory.high": "4096"}, [("MemoryHigh", ("t", 4096))]),
        ({"memory.swap.max": "0"}, [("MemorySwapMax", ("t", 0))]),
        ({"pids.max": "100"}, [("TasksMax", ("t", 100))]),
        ({"cpuset.cpus": "0-2,9"}, [("AllowedCPUs", ("ay", b"\x07\x02"))]),
        ({"cpuset.cpus": " "}, [("AllowedCPUs", ("ay", b""))]),
        ({"cpuset.mems": "0-1"}, [("AllowedMemoryNodes", ("ay", b"\x03"))]),
        ({"memory.oom.group": "1"}, None),
        ({"hugetlb.2MB.max": "0"}, None),
        ({"hugetlb.2MB.max": "0", "hugetlb.2MB.rsvd.max": "0"}, None),
    ],
)
def test_what_systemd_has_a_property_for_is_one(
    files: dict[str, str], expected: list[tuple[str, tuple[str, Any]]] | None
) -> None:
    assert resource_properties(files, 252, 2) == expected


@pytest.mark.parametrize("quota", [1000, 1001, 12345, 99_999, 300_000])
@pytest.mark.parametrize("period", [1000, 10_000, 30_000, 99_999, 100_000, 1_000_000])
def test_systemd_divides_a_quota_per_second_back_to_the_same_quota(quota: int, period: int) -> None:
    properties = resource_properties({"cpu.max": f"{quota} {period}"}, 252, 2)
    assert properties is not None
    [(_, (_, given)), (name, (_, per_second))] = properties
    assert (given, name) == (period, "CPUQuotaPerSecUSec")
    assert per_second * period // 1_000_000 == quota


def test_no_quota_is_infinity() -> None:
    files = {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}
    properties = resource_properties(files, 252, 2)
    assert properties is not None
    assert properties[1] == ("CPUQuotaPerSecUSec", ("t", INFINITY))


def test_before_systemd_242_the_period_cannot_be_given() -> None:
    assert resource_properties({"cpu.max": "5000 100000"}, 241, 2) == [("CPUQuotaPerSecUSec", ("t", 50_000))]
    assert resource_properties({"cpu.max": "5000 50000"}, 241, 2) is None


def test_cpus_are_a_property_on_v2_since_systemd_244_and_so_is_their_controller_systemds() -> None:
    files = {"cpuset.cpus": "0-3"}
    assert resource_properties(files, 244, 2) == [("AllowedCPUs", ("ay", b"\x0f"))]
    assert resource_properties(files, 243, 2) is None
    assert resource_properties(files, 252, 1) is None
    assert ("cpuset" in known_controllers(244), "cpuset" in known_controllers(243)) == (True, False)


def test_limits_are_shown_as_systemctl_takes_them() -> None:
    properties = [("CPUAccounting", ("b", True)), ("MemoryMax", ("t", INFINITY)), ("AllowedCPUs", ("ay", b"\x07\x02"))]
    assert shown_properties(properties) == "MemoryMax=infinity AllowedCPUs=0-2,9"


@pytest.mark.parametrize(
    ("quota", "period", "expected"), [(41_700, 100_000, 42_000), (150_000, 100_000, 150_000), (1000, 30_000, 1200)]
)
def test_a_pods_quota_is_rounded_up_to_a_hundredth_of_a_cpu(quota: int, period: int, expected: int) -> None:
    assert systemd_quota(quota, period) == expected
