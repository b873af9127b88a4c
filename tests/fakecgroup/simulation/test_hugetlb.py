"""Huge pages of simulated processes."""

from __future__ import annotations

from errno import EBUSY

import pytest

from fakecgroup import Kernel, Workload

_MIB = 1 << 20


def _kernel() -> Kernel:
    kernel = Kernel(clock=lambda: 0, hugepages="2Mi=64,1Gi=0")
    kernel.write("/cgroup.subtree_control", "+hugetlb")
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.subtree_control", "+hugetlb")
    kernel.mkdir("/a/b")
    return kernel


def _spawn(kernel: Kernel, path: str, size: str) -> int:
    (pid,) = kernel.spawn(path, Workload([{"for": "10s", "hugetlb": {"2Mi": size}}]))
    kernel.advance(0)
    return pid


def _number(kernel: Kernel, file: str) -> int:
    return int(kernel.read(file))


def test_huge_pages_count_here_and_above_as_used_and_reserved() -> None:
    kernel = _kernel()
    _spawn(kernel, "/a/b", "63Mi")
    for path in ("/a", "/a/b"):
        assert _number(kernel, f"{path}/hugetlb.2MB.current") == 64 * _MIB
        assert _number(kernel, f"{path}/hugetlb.2MB.rsvd.current") == 64 * _MIB
    assert kernel.read("/a/b/hugetlb.2MB.numa_stat") == f"total={64 * _MIB} N0={64 * _MIB}\n"


def test_an_exit_frees_them() -> None:
    kernel = _kernel()
    _spawn(kernel, "/a/b", "64Mi")
    kernel.advance(11)
    assert _number(kernel, "/a/hugetlb.2MB.current") == 0


def test_over_the_limit_a_process_gets_sigbus_and_the_event_counts_where_it_is() -> None:
    """6.12.117 with the limit in the parent: max 1 in both events, and in the local ones of the child alone."""
    kernel = _kernel()
    kernel.write("/a/hugetlb.2MB.max", "32M")
    pid = _spawn(kernel, "/a/b", "64Mi")
    assert [kill.pid for kill in kernel.kills] == [pid]
    events = [
        kernel.read(f"{path}/hugetlb.2MB.{file}") for path in ("/a", "/a/b") for file in ("events", "events.local")
    ]
    assert events == ["max 1\n", "max 0\n", "max 1\n", "max 1\n"]


def test_over_the_limit_of_reservations_there_is_no_mapping() -> None:
    kernel = _kernel()
    kernel.write("/a/hugetlb.2MB.rsvd.max", "32M")
    _spawn(kernel, "/a/b", "64Mi")
    assert kernel.kills == ()
    assert _number(kernel, "/a/hugetlb.2MB.current") == 0
    assert kernel.read("/a/hugetlb.2MB.events") == "max 1\n"


def test_a_process_that_moves_leaves_its_huge_pages_behind() -> None:
    """6.12.117 shows them in the old cgroup, as used and as reserved, until the process ends."""
    kernel = _kernel()
    kernel.mkdir("/other")
    pid = _spawn(kernel, "/a/b", "20Mi")
    kernel.write("/other/cgroup.procs", str(pid))
    kernel.advance(1)
    assert (_number(kernel, "/a/b/hugetlb.2MB.current"), _number(kernel, "/other/hugetlb.2MB.current")) == (
        20 * _MIB,
        0,
    )
    kernel.advance(10)
    assert _number(kernel, "/a/b/hugetlb.2MB.current") == 0


def test_a_limit_below_the_usage_is_refused() -> None:
    kernel = _kernel()
    _spawn(kernel, "/a/b", "64Mi")
    with pytest.raises(OSError, match=r".*") as refused:
        kernel.write("/a/hugetlb.2MB.max", "32M")
    assert refused.value.errno == EBUSY


def test_v1_counts_failures_and_the_greatest_usage() -> None:
    kernel = Kernel("v1", clock=lambda: 0, hugepages="2Mi=64")
    kernel.mkdir("/hugetlb/a")
    kernel.write("/hugetlb/a/hugetlb.2MB.limit_in_bytes", "32M")
    _spawn(kernel, "/hugetlb/a", "64Mi")
    assert _number(kernel, "/hugetlb/a/hugetlb.2MB.failcnt") == 1
    assert _number(kernel, "/hugetlb/a/hugetlb.2MB.usage_in_bytes") == 0
    assert _number(kernel, "/hugetlb/a/hugetlb.2MB.max_usage_in_bytes") == 32 * _MIB
    kernel.write("/hugetlb/a/hugetlb.2MB.max_usage_in_bytes", "0")
    kernel.write("/hugetlb/a/hugetlb.2MB.failcnt", "0")
    assert _number(kernel, "/hugetlb/a/hugetlb.2MB.failcnt") == 0
    assert _number(kernel, "/hugetlb/a/hugetlb.2MB.max_usage_in_bytes") == 0


def test_a_limit_above_counts_the_failure_and_the_peak_below_has_the_refused_page() -> None:
    """6.1.192: failcnt 1 in the parent and 0 in the child; the greatest usage 32 MiB there, 34 MiB here."""
    kernel = Kernel("v1", clock=lambda: 0, hugepages="2Mi=64")
    kernel.mkdir("/hugetlb/a")
    kernel.mkdir("/hugetlb/a/b")
    kernel.write("/hugetlb/a/hugetlb.2MB.limit_in_bytes", "32M")
    _spawn(kernel, "/hugetlb/a/b", "64Mi")
    seen = [_number(kernel, f"/hugetlb/{path}/hugetlb.2MB.failcnt") for path in ("a", "a/b")]
    seen += [_number(kernel, f"/hugetlb/{path}/hugetlb.2MB.max_usage_in_bytes") // _MIB for path in ("a", "a/b")]
    assert seen == [1, 0, 32, 34]
