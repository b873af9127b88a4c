"""Shell sessions on a mounted tree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import shell


def test_one_share_becomes_two(cpu_group: Path) -> None:
    assert shell("echo 1 > cpu.shares && cat cpu.shares", cpu_group) == (0, "2\n", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_quota_below_a_millisecond_is_an_invalid_argument(cpu_group: Path) -> None:
    status, _, said = shell("bash -c 'echo 999 > cpu.cfs_quota_us'", cpu_group)  # sh says "I/O error" for any errno
    assert (status, said.rstrip().rpartition(": ")[2]) == (1, "Invalid argument")


def test_rmdir_of_a_populated_cgroup_says_busy(cpu_group: Path) -> None:
    (cpu_group / "a").mkdir()
    status, _, complaint = shell(
        "sleep 60 & echo $! > a/cgroup.procs; rmdir a; rc=$?; kill $!; wait; rmdir a; exit $rc", cpu_group
    )
    assert status == 1
    assert complaint.splitlines()[0] == "rmdir: failed to remove 'a': Device or resource busy"
    assert not (cpu_group / "a").exists()


def test_a_shell_moves_itself_with_its_pid(group: Path) -> None:
    (group / "a").mkdir()
    status, said, _ = shell("echo $$ > a/cgroup.procs; read pid < a/cgroup.procs; test $pid = $$ && echo same", group)
    assert (status, said) == (0, "same\n")


def test_controllers_are_enabled_for_children(group: Path) -> None:
    script = "mkdir a && echo +pids > cgroup.subtree_control && echo 10 > a/pids.max && cat a/pids.max"
    assert shell(script, group) == (0, "10\n", "")


def test_find_walks_the_tree(group: Path) -> None:
    (group / "a" / "b").mkdir(parents=True)
    status, said, complaint = shell("find . -type d | sort", group)
    assert (status, said, complaint) == (0, ".\n./a\n./a/b\n", "")


def test_grep_reads_many_files(group: Path) -> None:
    for name in ("a", "b"):
        (group / name).mkdir()
    status, said, _ = shell("grep . */cgroup.max.depth", group)
    assert (status, said) == (0, "a/cgroup.max.depth:max\nb/cgroup.max.depth:max\n")
