"""bpf(2) for device programs of cgroups. The answers are those of a booted kernel."""

from __future__ import annotations

import sys
from pathlib import Path

from .conftest import Sandboxed, said

# What `bpf_probe.py` said as root in a cgroup of the unified hierarchy on Linux 6.18.
ANSWERS = """\
load False E2BIG EINVAL 15 EINVAL
queries (0, 0, 0, '') EBADF (0, 0, 0, '') EBADF EBADF EINVAL (0, 0, 0, '')
no program EINVAL EBADF EINVAL
no cgroup EBADF EBADF EBADF EBADF EBADF
flags EINVAL EINVAL EINVAL ENOENT
several 0 EINVAL 0 (0, 2, 2, 'pq') ('ENOSPC', 2, 2, 'p') (0, 2, 2, '')
mixed EPERM EPERM 0 EPERM (0, 0, 1, 'r') (0, 0, 0, '')
effective (0, 0, 3, 'rpq') (0, 0, 2, 'pq') (0, 0, 0, '')
replaced 0 (0, 2, 2, 'sq') EINVAL ENOENT 0 (0, 2, 2, 'sr')
by id True ENOENT
detached ENOENT EINVAL EINVAL 0 (0, 2, 1, 'r') 0 (0, 0, 0, '') ENOENT 0 ENOENT
single 0 EPERM EPERM 0 (0, 0, 1, 'q') EPERM 0 (0, 0, 0, '')
override 0 0 (0, 0, 1, 'q') EPERM (0, 1, 1, 'q')
removed ENOENT ENOENT ENOENT
not root EPERM EPERM 15 EPERM
"""


def test_programs_are_attached_and_queried_as_by_a_kernel(sandboxed: Sandboxed) -> None:
    probe = Path(__file__).with_name("bpf_probe.py")
    assert said(sandboxed(f"'{sys.executable}' '{probe}' /sys/fs/cgroup")) == ANSWERS


def test_the_root_of_an_inner_user_namespace_may_load_none(sandboxed: Sandboxed) -> None:
    probe = f"'{sys.executable}' -c 'import bpf_probe; print(bpf_probe.load())'"
    script = f"cd '{Path(__file__).parent}'; {probe}; unshare -Ur {probe}"
    assert said(sandboxed(script)).split()[1:] == ["EPERM"]
