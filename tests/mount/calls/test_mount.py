"""mount(2) and umount2(2) of cgroup file systems: what is mounted, its source, its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Sandboxed, said


def test_v2_is_mounted_as_systemd_mounts_it(sandboxed: Sandboxed) -> None:
    shown = said(sandboxed("grep ^cgroup2 /proc/mounts")).split()
    assert shown[3].split(",")[-2:] == ["nsdelegate", "memory_recursiveprot"]


def test_a_mount_shows_its_source_and_options_in_every_namespace(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = f"""
    mount -t cgroup2 -o nsdelegate 'my source' {tmp_path}
    show() {{ awk '$2 == "{tmp_path}" {{print $1, $3, $4}}' /proc/self/mounts; }}
    show
    unshare -m grep {tmp_path} /proc/self/mountinfo | sed 's/.* - //'
    """
    assert said(sandboxed(script)).splitlines() == [
        "my\\040source cgroup2 rw,relatime,nsdelegate",
        "cgroup2 my\\040source rw,nsdelegate",
    ]


def test_a_hierarchy_that_was_unmounted_is_mounted_again_with_its_cgroups(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = f"""
    mkdir /sys/fs/cgroup/pids/a && echo 5 > /sys/fs/cgroup/pids/a/pids.max
    umount /sys/fs/cgroup/pids
    mount -t cgroup -o pids again {tmp_path}
    cat {tmp_path}/a/pids.max
    awk '$2 == "{tmp_path}" {{print $1, $3}}' /proc/mounts
    umount {tmp_path}
    """
    assert said(sandboxed(script, layout="v1")).splitlines() == ["5", "again cgroup"]


def test_a_hierarchy_that_is_not_there_is_eperm_and_an_unknown_subsystem_einval(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    script = f"""
    for o in pids freezer none,name=q all memory bogus none name=q; do
        mount -t cgroup -o $o x {tmp_path} 2>&1 | grep -q 'ermission denied' && echo $o EPERM || echo $o other
    done
    """
    told = dict(line.split() for line in said(sandboxed(script)).splitlines())
    assert {option for option, what in told.items() if what == "EPERM"} == {"pids", "freezer", "none,name=q", "all"}


def test_a_cgroup_namespace_is_a_boundary(sandboxed: Sandboxed) -> None:
    script = """
    cd /sys/fs/cgroup
    mkdir a o && echo $$ > a/cgroup.procs
    unshare -C sh -c '
        /bin/echo 5 > a/cgroup.max.depth
        /bin/echo 0 > o/cgroup.procs
        /bin/echo 0 > a/cgroup.procs
        /bin/echo 5 > o/cgroup.max.depth
    '
    echo 6 > a/cgroup.max.depth
    cat a/cgroup.max.depth o/cgroup.max.depth
    """
    done = sandboxed(script)
    told = [line.rpartition(": ")[2] for line in done.stderr.splitlines()]
    assert (done.stdout, told) == ("6\n5\n", ["Operation not permitted", "No such file or directory"])


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
def test_a_user_namespace_that_does_not_own_the_cgroup_namespace_mounts_nothing(
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


@pytest.mark.parametrize(
    ("options", "initial", "unshared", "not_owned"),
    [
        ("cpu,pids", "busy", "denied", "denied"),
        ("bogus", "bad option", "bad option", "bad option"),
        ("xattr=1", "bad option", "bad option", "bad option"),
    ],
)
def test_wrong_options_are_refused_before_the_owner_of_the_cgroup_namespace_counts(
    sandboxed: Sandboxed, tmp_path: Path, options: str, initial: str, unshared: str, not_owned: str
) -> None:
    # as Linux 6.18 answers in namespaces whose roots are those of the machine
    mount = f"mount -t cgroup -o {options} x {tmp_path} 2>&1 | grep -om 1 'busy\\|denied\\|bad option'"
    script = f'{mount}; unshare -C sh -c "{mount}"; unshare -Urm sh -c "{mount}"'
    assert said(sandboxed(script, layout="v1")).splitlines() == [initial, unshared, not_owned]
