"""clone3(2) with CLONE_INTO_CGROUP. The answers are those of booted kernels."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

PROBE = f"'{sys.executable}' '{Path(__file__).with_name('syscall_probe.py')}'"


def test_a_child_starts_in_the_cgroup_it_is_cloned_into(sandboxed: Sandboxed) -> None:
    script = (
        f"cd /sys/fs/cgroup; mkdir a; mkdir b; echo $$ >b/cgroup.procs; {PROBE} clone a; {PROBE} clone a {os.O_PATH}"
    )
    assert said(sandboxed(script)) == "0::/a\n0::/b\n0::/a\n" * 2


@pytest.mark.parametrize(
    ("make", "into", "why"),
    [
        ("", "/sys/fs/cgroup/cgroup.procs", errno.EBADF),
        ("", "/proc", errno.EBADF),
        ("mkdir a a/b; echo +memory >cgroup.subtree_control; echo +memory >a/cgroup.subtree_control", "a", errno.EBUSY),
        ("mkdir a a/b; echo threaded >a/b/cgroup.type", "a", 0),
        ("mkdir a; mkdir a/b; mkdir a/c; echo threaded >a/b/cgroup.type", "a/c", errno.EOPNOTSUPP),
        ("mkdir a; echo +pids >cgroup.subtree_control; echo 0 >a/pids.max", "a", errno.EAGAIN),
    ],
)
def test_a_clone_into_a_cgroup_is_refused_as_the_kernel_does(
    sandboxed: Sandboxed, make: str, into: str, why: int
) -> None:
    shown = said(sandboxed(f"cd /sys/fs/cgroup; {make}\n{PROBE} clone {into}")).splitlines()
    assert shown[0] == (str(-why) if why else "0::/a")


def test_a_clone_into_a_cgroup_that_was_removed_is_refused(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{PROBE} clone-removed /sys/fs/cgroup/a")) == f"-{errno.ENOENT}\n"


def test_children_are_cloned_into_a_cgroup_one_right_after_the_other(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"cd /sys/fs/cgroup; mkdir a; {PROBE} clone-many a 40")) == "40 []\n"


def test_the_memory_of_a_clone_is_the_callers_again(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{PROBE} clone-forget /sys/fs/cgroup")) == "0\n" * 2


def test_a_child_that_is_cloned_into_a_cgroup_with_a_quota_is_throttled(sandboxed: Sandboxed) -> None:
    script = f"""
        cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '1000 10000' >a/cpu.max
        {PROBE} clone-busy a; until grep -q 'nr_throttled [1-9]' a/cpu.stat; do sleep 0.02; done"""
    assert said(sandboxed(script, enforce="cpu")) == ""
