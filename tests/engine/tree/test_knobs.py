"""Interface files: the texts for limits, and which texts read back count as the same."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.tree.knobs import KNOBS, hugetlb_knob

V1 = {knob.field: knob for knob in KNOBS[1]}
V2 = {knob.field: knob for knob in KNOBS[2]}
LIMITED = CgroupLimits(shares=1024, weight=39, quota_us=50_000, period_us=100_000, memory=1 << 30, pids=7)
UNIFIED = CgroupLimits(memory_min=4096, memory_low=8192, memory_high=1 << 20, swap=0, oom_group=True)
ALIKE = ("shares", "quota", "memory", "pids")


def test_limits_become_v1_files() -> None:
    assert {field: knob.setting(LIMITED) for field, knob in V1.items()} == {
        "shares": ("1024",), "quota": ("50000", "100000"), "memory": ("1073741824",), "pids": ("7",),
    }  # fmt: skip


def test_limits_become_v2_files() -> None:
    assert {field: V2[field].setting(LIMITED) for field in ALIKE} == {
        "shares": ("39",), "quota": ("50000 100000",), "memory": ("1073741824",), "pids": ("7",),
    }  # fmt: skip


def test_what_only_v2_has_is_in_the_files_that_the_kubelet_names() -> None:
    settings = {knob.files[0]: knob.setting(UNIFIED) for field, knob in V2.items() if field not in ALIKE}
    written = {file: setting[0] for file, setting in settings.items() if setting is not None}
    assert written.keys() == settings.keys()
    assert written == UNIFIED.unified == {
        "memory.min": "4096", "memory.low": "8192", "memory.high": "1048576", "memory.swap.max": "0",
        "memory.oom.group": "1",
    }  # fmt: skip


def test_what_only_v2_has_is_the_kernels_default_when_not_given() -> None:
    for field, knob in V2.items():
        if field not in ALIKE:
            assert not knob.given(CgroupLimits())
            assert knob.setting(CgroupLimits()) == knob.default


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (1, ("hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.rsvd.limit_in_bytes")),
        (2, ("hugetlb.2MB.max", "hugetlb.2MB.rsvd.max")),
    ],
)
def test_huge_pages_have_a_limit_and_the_same_for_reservations(version: Literal[1, 2], files: tuple[str, str]) -> None:
    knob = hugetlb_knob(version, 2 << 20)
    assert knob.files == files
    assert knob.setting(CgroupLimits(hugepages={2 << 20: 4 << 20})) == ("4194304", "4194304")
    assert knob.setting(CgroupLimits(hugepages={1 << 30: 0})) is None


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("4611686018427387904", "max", False),  # the kubelet's "no limit" is a number for the kernel
        ("4611686018427387904", "9223372036854771712", False),
        ("4611686018427387904", "4611686018427387904", True),
        ("3000000", "2097152", True),  # rounded down to a page
        ("0", "max", False),
    ],
)
def test_huge_pages_may_be_rounded_down(wanted: str, found: str, same: bool) -> None:
    assert hugetlb_knob(2, 2 << 20).same(wanted, found, "hugetlb.2MB.max") is same


@pytest.mark.parametrize("knobs", [V1, V2])
@pytest.mark.parametrize("field", ["quota", "memory", "pids"])
def test_no_limit_is_the_kernels_default(knobs: dict[str, Any], field: str) -> None:
    assert knobs[field].setting(CgroupLimits()) == knobs[field].default
    assert math.isinf(knobs[field].size(knobs[field].default))


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("1000000", "999424", True),  # rounded down to a page of 4 KiB
        ("1000000", "983040", True),  # of 64 KiB
        ("1000000", "1000000", True),
        ("1000000", "1003520", False),
        ("-1", "9223372036854771712", True),
        ("-1", "9223372036854710272", True),
        ("-1", "4096", False),
        ("4096", "9223372036854771712", False),
    ],
)
def test_memory_may_be_rounded_down_to_a_page(wanted: str, found: str, same: bool) -> None:
    assert V1["memory"].same(wanted, found, "memory.limit_in_bytes") is same


def test_every_negative_quota_is_no_limit() -> None:
    assert V1["quota"].same("-5", "-1", "cpu.cfs_quota_us")


def _walk(old: tuple[str, str], new: tuple[str, str]) -> list[Any]:
    state = dict(zip(V1["quota"].files, old, strict=True))
    sizes = []
    for file, text in V1["quota"].writes(old, new):
        state[file] = text
        sizes.append(V1["quota"].size(tuple(state.values())))
    assert tuple(state.values()) == new
    return sizes


@pytest.mark.parametrize("old", [("-1", "100000"), ("5000", "10000"), ("50000", "100000"), ("200000", "1000000")])
@pytest.mark.parametrize("new", [("-1", "100000"), ("1000", "1000"), ("900000", "1000000"), ("20000", "50000")])
def test_no_step_between_two_quotas_leaves_the_range_of_both_unless_unlimited(
    old: tuple[str, str], new: tuple[str, str]
) -> None:
    low, high = sorted((V1["quota"].size(old), V1["quota"].size(new)))
    assert all(low <= size <= high or math.isinf(size) for size in _walk(old, new))
