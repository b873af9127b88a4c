"""Huge pages of arm64, which no recording has: what Debian's 6.12 answered there, with pages of 4 KiB."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel

ARM64 = (64 << 10, 2 << 20, 32 << 20, 1 << 30)


@pytest.fixture
def v1() -> Kernel:
    kernel = Kernel(layout="v1", kernel="6.12", hugepages=ARM64)
    kernel.mkdir("/hugetlb/x")
    return kernel


@pytest.mark.parametrize(
    ("size", "unlimited", "limit"),
    [
        ("64KB", 9223372036854710272, 99942400),
        ("2MB", 9223372036852678656, 98566144),
        ("32MB", 9223372036821221376, 67108864),
        ("1GB", 9223372035781033984, 0),
    ],
)
def test_limits_are_whole_pages(v1: Kernel, size: str, unlimited: int, limit: int) -> None:
    for kind in ("", "rsvd."):
        file = f"/hugetlb/x/hugetlb.{size}.{kind}limit_in_bytes"
        assert int(v1.read(file)) == unlimited
        v1.write(file, "100000000")
        assert int(v1.read(file)) == limit


def test_each_size_has_the_same_files(v1: Kernel) -> None:
    v2 = Kernel(kernel="6.12", hugepages=ARM64)
    v2.write("/cgroup.subtree_control", "+hugetlb")
    v2.mkdir("/x")
    for kernel, directory, count in ((v1, "/hugetlb/x", 9), (v2, "/x", 7)):
        files = [name.split(".", 2) for name in kernel.listdir(directory) if name.startswith("hugetlb.")]
        of_size = {size: {rest for _, other, rest in files if other == size} for size in ("64KB", "2MB", "32MB", "1GB")}
        assert {frozenset(rest) for rest in of_size.values()} == {frozenset(of_size["2MB"])}
        assert (len(of_size["2MB"]), len(files)) == (count, 4 * count)
