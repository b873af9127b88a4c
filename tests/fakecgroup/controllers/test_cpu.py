"""Rules of the cpu controller that differ between the versions, or from what one would guess."""

from __future__ import annotations

from errno import EINVAL

import pytest

from fakecgroup import Kernel


@pytest.fixture
def v1() -> Kernel:
    kernel = Kernel("v1", "6.1")
    kernel.mkdir("/cpu/a")
    kernel.mkdir("/cpu/a/b")
    return kernel


@pytest.fixture
def v2() -> Kernel:
    kernel = Kernel("v2", "6.12")
    kernel.write("/cgroup.subtree_control", "+cpu")
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.subtree_control", "+cpu")
    kernel.mkdir("/a/b")
    return kernel


def test_shares_are_clamped_and_never_refused(v1: Kernel) -> None:
    for written, read in (("1", "2\n"), ("0", "2\n"), ("262145", "262144\n"), ("3072", "3072\n")):
        v1.write("/cpu/a/cpu.shares", written)
        assert v1.read("/cpu/a/cpu.shares") == read


def test_a_v1_child_cannot_have_more_cpu_than_its_parent(v1: Kernel) -> None:
    v1.write("/cpu/a/cpu.cfs_quota_us", "50000")
    with pytest.raises(OSError) as more_than_the_parent:
        v1.write("/cpu/a/b/cpu.cfs_quota_us", "50001")
    assert more_than_the_parent.value.errno == EINVAL
    v1.write("/cpu/a/b/cpu.cfs_quota_us", "50000")
    with pytest.raises(OSError) as less_than_the_child:
        v1.write("/cpu/a/cpu.cfs_quota_us", "49999")
    assert less_than_the_child.value.errno == EINVAL


def test_a_v2_child_may_have_more_cpu_than_its_parent(v2: Kernel) -> None:
    v2.write("/a/cpu.max", "50000 100000")
    v2.write("/a/b/cpu.max", "max")
    v2.write("/a/b/cpu.max", "99999 100000")
    assert v2.read("/a/b/cpu.max") == "99999 100000\n"
