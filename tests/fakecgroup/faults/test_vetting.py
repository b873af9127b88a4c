"""A rule is refused if the kernel gives no such errno, or if it can never match."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel
from fakecgroup.faults import FaultError
from fakecgroup.faults.rule import read_rule
from fakecgroup.faults.vetting import vet


@pytest.mark.parametrize(
    ("layout", "kernel", "rule"),
    [
        ("v1", "6.1", "write */memory.limit_in_bytes = error(EBUSY)"),  # mem_cgroup_resize_max
        ("v1", "6.1", "write */memory.limit_in_bytes = error(EINTR)"),
        ("v2", "6.12", "write */cgroup.procs = error(ESRCH)"),  # recorded
        ("v2", "6.12", "write */cgroup.procs = error(EBUSY)"),
        ("v2", "5.10", "mkdir * = error(ENOSPC)"),  # idr_alloc
        ("v2", "6.12", "mkdir * = error(EBUSY)"),  # xa_alloc
        ("v2", "6.12", "mkdir app = error(EAGAIN)"),
        ("v2", "6.12", "rmdir app = error(EBUSY)"),
        ("v2", "6.12", "open */cpu.* = error(EMFILE)"),
        ("v2", "6.12", "write */memory.reclaim = error(EAGAIN)"),
        ("hybrid", "6.1", "write */memory.limit_in_bytes = error(EBUSY)"),
        ("hybrid", "6.1", "write unified/*/cgroup.procs = error(EBUSY)"),
    ],
)
def test_an_errno_that_the_kernel_gives_is_taken(layout: str, kernel: str, rule: str) -> None:
    vet(read_rule(rule), Kernel(layout, kernel))


@pytest.mark.parametrize(
    ("layout", "kernel", "rule", "complaint"),
    [
        ("v1", "6.1", "write */memory.limit_in_bytes = error(EROFS)", "gives no EROFS for write of memory.limit_in"),
        ("v2", "6.12", "write */pids.max = error(EBUSY)", "kernel 6.12 gives no EBUSY for write of pids.max"),
        ("v2", "6.12", "mkdir * = error(ENOSPC)", "kernel 6.12 gives no ENOSPC for mkdir"),
        ("v2", "5.10", "mkdir * = error(EBUSY)", "kernel 5.10 gives no EBUSY for mkdir"),
        ("v2", "6.12", "read */pids.max = 1*off->error(EBUSY)", "gives no EBUSY for read of pids.max, but"),
        ("v2", "5.10", "write */cpu.max.burst = off", "no file of kernel 5.10 on v2 is named cpu.max.burst"),
        ("v2", "6.12", "read */memory.limit* = off", "no file of kernel 6.12 on v2 is named memory.limit*"),
        ("v2", "6.12", "appear */nothing = delay(1s)", "never matches"),
    ],
)
def test_what_cannot_be_is_refused(layout: str, kernel: str, rule: str, complaint: str) -> None:
    with pytest.raises(FaultError) as refused:
        vet(read_rule(rule), Kernel(layout, kernel))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_any_errno_can_be_asked_for() -> None:
    vet(read_rule("write */pids.max = error(EBUSY)"), Kernel("v2", "6.12"), any_errno=True)


def test_a_file_that_is_not_there_is_refused_all_the_same() -> None:
    with pytest.raises(FaultError, match="never matches"):
        vet(read_rule("write */cpu.max.burst = error(EIO)"), Kernel("v2", "5.10"), any_errno=True)
