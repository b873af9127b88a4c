"""statfs(2) and fstatfs(2) of the tree. The answers are those of booted kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Sandboxed, said


@pytest.mark.parametrize(
    ("layout", "types"),
    [("v2", "63677270\n63677270\n"), ("v1", "1021994\n27e0eb\n"), ("hybrid", "1021994\n27e0eb\n")],
)
def test_statfs_shows_the_type_of_the_trees_kernel(sandboxed: Sandboxed, layout: str, types: str) -> None:
    place = "." if layout == "v2" else "pids"
    script = f"cd /sys/fs/cgroup; stat -f -c %t /sys/fs/cgroup {place}/cgroup.procs"
    assert said(sandboxed(script, layout=layout)) == types


def test_statfs_of_an_open_file_a_relative_path_and_a_link(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = (
        f"ln -s /sys/fs/cgroup/a {tmp_path}/link; mkdir /sys/fs/cgroup/a; cd /sys/fs; exec 3<cgroup/a\n"
        f"stat -f -c %t cgroup/a {tmp_path}/link /proc/self/fd/3 cgroup/../cgroup /proc/$$/root/sys/fs/cgroup\n"
        "stat -f -c %t . /proc"
    )
    assert said(sandboxed(script)) == "63677270\n" * 5 + "62656572\n9fa0\n"


def test_statfs_of_the_unified_part_of_hybrid(sandboxed: Sandboxed) -> None:
    assert (
        said(sandboxed("stat -f -c '%t %s %l %b %f' /sys/fs/cgroup/unified", layout="hybrid"))
        == "63677270 4096 255 0 0\n"
    )


def test_statfs_of_a_missing_file_is_refused_by_the_kernel(sandboxed: Sandboxed) -> None:
    done = sandboxed("stat -f /sys/fs/cgroup/nothing")
    assert (done.returncode, "No such file or directory" in done.stderr) == (1, True)
