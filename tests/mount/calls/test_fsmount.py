"""fsopen(2), fsconfig(2), fsmount(2), move_mount(2) of cgroup file systems. The answers are those of Linux 6.18."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ...fakecgroup.outside.fs_context_steps import STEPS
from .conftest import Sandboxed, said

PROBE = f"'{sys.executable}' '{Path(__file__).with_name('fsmount_probe.py')}'"


def test_the_tree_is_mounted(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = (
        f"mkdir -p /sys/fs/cgroup/a/b\n{PROBE} cgroup2 source=x nsdelegate ro create mount:0x13 list to:{tmp_path}\n"
        f"ls -d {tmp_path}/a/b; grep {tmp_path} /proc/self/mountinfo | cut -d\\  -f 4,6-; umount {tmp_path}"
    )
    assert said(sandboxed(script)).splitlines() == [
        "a cgroup.controllers",
        f"{tmp_path}/a/b",
        "/ ro,nosuid,noatime - cgroup2 x rw,nsdelegate",
    ]


def test_in_a_cgroup_namespace_the_part_below_its_root_is_mounted(sandboxed: Sandboxed, tmp_path: Path) -> None:
    inside = f"{PROBE} cgroup2 create mount:0 to:{tmp_path}; ls -d {tmp_path}/b; umount {tmp_path}"
    script = f'mkdir -p /sys/fs/cgroup/a/b; echo $$ >/sys/fs/cgroup/a/cgroup.procs; unshare -Cm sh -c "{inside}"'
    assert said(sandboxed(script)) == f"{tmp_path}/b\n"


def test_a_hierarchy_of_v1_is_mounted_by_its_name(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = (
        f"{PROBE} cgroup cpuacct cpu create mount:0 to:{tmp_path}; ls {tmp_path}/cpu.shares\n"
        f"{PROBE} cgroup name=systemd none xattr create; {PROBE} cgroup memory cpu create"
    )
    assert said(sandboxed(script, layout="v1")) == f"{tmp_path}/cpu.shares\ncreate EBUSY\n"


@pytest.mark.parametrize(
    ("layout", "steps", "refused"),
    STEPS,
)
def test_each_step_is_taken_or_refused_as_by_the_kernel(
    sandboxed: Sandboxed, layout: str, steps: str, refused: list[str]
) -> None:
    kind = "cgroup2" if layout == "v2" else "cgroup"
    assert said(sandboxed(f"{PROBE} {kind} {steps}", layout=layout)).splitlines() == refused


def test_a_caller_that_may_not_mount_gets_no_context(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"setpriv --bounding-set=-all --inh-caps=-all {PROBE} cgroup2")) == "fsopen EPERM\n"


def test_other_file_systems_are_mounted_as_ever(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = f"{PROBE} tmpfs size=1M create mount:0 to:{tmp_path}; stat -f -c %T {tmp_path}"
    assert said(sandboxed(script)) == "tmpfs\n"
