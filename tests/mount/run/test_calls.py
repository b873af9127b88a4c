"""System calls that would tell a FUSE file system from a real one. The answers are those of booted kernels."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

PROBE = f"'{sys.executable}' '{Path(__file__).with_name('probe.py')}'"


@pytest.mark.parametrize(
    ("layout", "types"),
    [("v2", "63677270\n63677270\n"), ("v1", "1021994\n27e0eb\n"), ("hybrid", "1021994\n27e0eb\n")],
)
def test_statfs_shows_the_type_that_is_played(sandboxed: Sandboxed, layout: str, types: str) -> None:
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


def test_statfs_of_what_is_not_there_is_refused_as_ever(sandboxed: Sandboxed) -> None:
    done = sandboxed("stat -f /sys/fs/cgroup/nothing")
    assert (done.returncode, "No such file or directory" in done.stderr) == (1, True)


@pytest.mark.parametrize("layout", ["v2", "v1"])
def test_a_handle_is_the_inode_number(sandboxed: Sandboxed, layout: str) -> None:
    where = "/sys/fs/cgroup" + ("/pids" if layout == "v1" else "")
    script = f"for n in 0 4 8 16; do {PROBE} handle {where}/cgroup.procs $n; done"
    small, fits = f"-{errno.EOVERFLOW} 8 0xff\n", "0 8 0xfe 0\n"
    assert said(sandboxed(script, layout=layout)) == small * 2 + fits * 2


def test_a_handle_that_only_names(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{PROBE} handle /sys/fs/cgroup 128 {0x200}")) == "0 8 0xfe 0\n"


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 8), reason="Linux 6.8 is needed")
def test_a_handle_with_the_unique_number_of_the_mount(sandboxed: Sandboxed) -> None:
    *handle, mount = said(sandboxed(f"{PROBE} handle /sys/fs/cgroup 128 {0x201}")).split()
    assert handle == ["0", "8", "0xfe", "0"]
    assert int(mount) >= 1 << 31


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


def test_io_uring_is_not_there(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{PROBE} uring")) == f"-{errno.ENOSYS}\n"


def test_a_cgroup_file_system_is_mounted_as_the_tree(sandboxed: Sandboxed, tmp_path: Path) -> None:
    show = f"grep {tmp_path} /proc/self/mountinfo | cut -d\\  -f 4,6-"
    inside = f"mount -t cgroup2 -o ro,nosuid none {tmp_path}; ls -d {tmp_path}/b; cat /proc/self/cgroup; {show}"
    script = (
        f"mkdir -p /sys/fs/cgroup/a/b; mount -t cgroup2 none {tmp_path}; ls -d {tmp_path}/a/b; {show}\n"
        f"umount {tmp_path}; echo $$ >/sys/fs/cgroup/a/cgroup.procs; unshare -C sh -c '{inside}'"
    )
    assert said(sandboxed(script)).splitlines() == [
        f"{tmp_path}/a/b",
        "/ rw,relatime - cgroup2 none rw",
        f"{tmp_path}/b",
        "0::/",
        "/ ro,nosuid,relatime - cgroup2 none rw",
    ]


def test_a_forced_unmount_leaves_the_tree_to_others(sandboxed: Sandboxed, tmp_path: Path) -> None:
    busy, gone = f"cd {tmp_path}; umount -f {tmp_path}", f"cd /; umount -f {tmp_path}; grep -c {tmp_path} /proc/mounts"
    done = sandboxed(
        f"mkdir /sys/fs/cgroup/a; mount -t cgroup2 none {tmp_path}; {busy}; ls -d a; {gone}; ls -d /sys/fs/cgroup/a"
    )
    assert (done.stdout, done.stderr.count("busy")) == ("a\n0\n/sys/fs/cgroup/a\n", 1)


@pytest.mark.parametrize(("namespaces", "status"), [("-Urm", 32), ("-UrmC", 0)])
def test_who_does_not_own_the_cgroup_namespace_mounts_nothing(
    sandboxed: Sandboxed, tmp_path: Path, namespaces: str, status: int
) -> None:
    assert sandboxed(f"unshare {namespaces} mount -t cgroup2 none {tmp_path}").returncode == status


def test_a_hierarchy_of_v1_is_mounted_by_its_name(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = (
        f"mount -t cgroup -o cpuacct,cpu xx {tmp_path} && ls {tmp_path}/cpu.shares && grep -c {tmp_path} /proc/mounts\n"
        f"mount -t cgroup -o memory,cpu yy {tmp_path}"
    )
    done = sandboxed(script, layout="v1")
    assert (done.stdout, "busy" in done.stderr) == (f"{tmp_path}/cpu.shares\n1\n", True)


def test_the_end_of_a_child_interrupts_no_call(sandboxed: Sandboxed) -> None:
    # dash has a handler for SIGCHLD without SA_RESTART
    script = "for i in $(seq 40); do echo a | cat >/dev/null & read line </proc/self/cgroup; wait; done; echo $line"
    assert said(sandboxed(script)) == "0::/\n"
