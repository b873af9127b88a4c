"""name_to_handle_at(2) of files of the tree. The answers are those of booted kernels."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

PROBE = f"'{sys.executable}' '{Path(__file__).with_name('syscall_probe.py')}'"


@pytest.mark.parametrize("layout", ["v2", "v1"])
def test_a_handle_is_the_inode_number(sandboxed: Sandboxed, layout: str) -> None:
    where = "/sys/fs/cgroup" + ("/pids" if layout == "v1" else "")
    script = f"for n in 0 4 8 16; do {PROBE} handle {where}/cgroup.procs $n; done"
    small, fits = f"-{errno.EOVERFLOW} 8 0xff\n", "0 8 0xfe 0\n"
    assert said(sandboxed(script, layout=layout)) == small * 2 + fits * 2


def test_a_handle_that_is_only_an_identifier(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{PROBE} handle /sys/fs/cgroup 128 {0x200}")) == "0 8 0xfe 0\n"


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 8), reason="Linux 6.8 is needed")
def test_a_handle_with_the_unique_number_of_the_mount(sandboxed: Sandboxed) -> None:
    *handle, mount = said(sandboxed(f"{PROBE} handle /sys/fs/cgroup 128 {0x201}")).split()
    assert handle == ["0", "8", "0xfe", "0"]
    assert int(mount) >= 1 << 31
