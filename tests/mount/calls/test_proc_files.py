"""Files of /proc that tell of cgroups and mounts. The texts are those of booted kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ...fakecgroup.outside.proc_texts import OF_V1, SUBSYSTEMS, cgroups
from ..test_pid_namespaces import SCRIPT, SEEN
from .conftest import Sandboxed, said


def test_proc_cgroups_of_v2(sandboxed: Sandboxed) -> None:
    text = said(sandboxed("mkdir -p /sys/fs/cgroup/a/b; cat /proc/cgroups", kernel="6.12"))
    assert text == cgroups(*((name, 0, 3) for name in SUBSYSTEMS))


@pytest.mark.parametrize(
    ("layout", "kernel", "membership", "numbers"),
    OF_V1,
)
def test_membership_and_proc_cgroups_of_v1(
    sandboxed: Sandboxed, layout: str, kernel: str, membership: str, numbers: tuple[int | None, ...]
) -> None:
    script = "mkdir /sys/fs/cgroup/pids/a; echo 0 >/sys/fs/cgroup/pids/a/tasks; cat /proc/self/cgroup /proc/cgroups"
    rows = [
        (name, number, 2 if name == "pids" else 1)
        for name, number in zip(SUBSYSTEMS, numbers, strict=True)
        if number is not None
    ]
    assert said(sandboxed(script, layout=layout, kernel=kernel)) == membership + cgroups(*rows)


def test_membership_by_every_path_to_it(sandboxed: Sandboxed) -> None:
    script = (
        "mkdir /sys/fs/cgroup/a; echo $$ >/sys/fs/cgroup/a/cgroup.procs\n"
        "for f in /proc/$$ /proc/self /proc/thread-self /proc/$$/task/$$ /proc/1; do cat $f/cgroup; done\n"
        "cd /proc/self; cat cgroup ../$$/cgroup; cd /proc; cat self/cgroup; cat /proc/self/root/proc/self/cgroup\n"
    )
    assert said(sandboxed(script)) == "0::/a\n" * 4 + "0::/\n" + "0::/a\n" * 4


def test_children_are_where_their_parent_was(sandboxed: Sandboxed) -> None:
    script = (
        "mkdir /sys/fs/cgroup/a; echo $$ >/sys/fs/cgroup/a/cgroup.procs; (cat /proc/self/cgroup)\n"
        "sleep 9 & cat /proc/$!/cgroup; kill $!"
    )
    assert said(sandboxed(script)) == "0::/a\n0::/a\n"


def test_a_file_of_this_name_elsewhere_is_itself(sandboxed: Sandboxed, tmp_path: object) -> None:
    names = "cgroup mounts mountinfo filesystems"
    script = f"cd {tmp_path}; for f in {names}; do echo mine >$f; cat $f ./$f {tmp_path}/$f; done"
    assert said(sandboxed(script)) == "mine\n" * 12


def test_a_process_that_is_not_there_has_no_file(sandboxed: Sandboxed) -> None:
    done = sandboxed("cat /proc/4194305/cgroup")
    assert (done.returncode, done.stderr) == (1, "cat: /proc/4194305/cgroup: No such file or directory\n")


def test_mounts_of_v2(sandboxed: Sandboxed) -> None:
    script = 'cd /sys/fs/cgroup; grep $PWD /proc/self/mountinfo; cat /proc/mounts /proc/self/mounts | grep " $PWD"'
    info, *mounts = said(sandboxed(script)).splitlines()
    fields = info.split()
    assert fields[3:6] == ["/", "/sys/fs/cgroup", "rw,nosuid,nodev,noexec,relatime"]
    options = "nsdelegate,memory_recursiveprot"
    assert fields[-4:] == ["-", "cgroup2", "cgroup2", f"rw,{options}"]
    assert mounts == [f"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,{options} 0 0"] * 2


def test_mounts_of_hybrid(sandboxed: Sandboxed) -> None:
    shown = said(sandboxed("grep /sys/fs/cgroup /proc/self/mountinfo", layout="hybrid", kernel="6.1")).splitlines()
    shown[0] = shown[0].removesuffix(",inode64")  # of kernels with CONFIG_TMPFS_INODE64
    assert [line.split(" ", 4)[4].partition(" - ")[::2] for line in shown[:5]] == [
        ("/sys/fs/cgroup ro,nosuid,nodev,noexec,relatime", "tmpfs tmpfs rw,mode=755"),
        (
            "/sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime",
            "cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot",
        ),
        ("/sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime", "cgroup cgroup rw,xattr,name=systemd"),
        ("/sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime", "cgroup cgroup rw,cpu,cpuacct"),
        ("/sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime", "cgroup cgroup rw,memory"),
    ]
    assert [line.split()[3] for line in shown] == ["/"] * 15
    assert {line.split()[1] for line in shown[1:]} == {shown[0].split()[0]}


def test_mountstats_tells_of_the_tree_and_of_no_mount_of_the_machines(sandboxed: Sandboxed) -> None:
    # others mount and unmount meanwhile, so the two are counted until they agree
    script = """
        grep 'fstype cgroup' /proc/self/mountstats
        for try in $(seq 100); do
            [ $(grep -c . /proc/mounts) = $(grep -c . /proc/$$/mountstats) ] && echo as many && break
        done
    """
    assert said(sandboxed(script)) == "device cgroup2 mounted on /sys/fs/cgroup with fstype cgroup2\nas many\n"


def test_mountstats_is_its_owners(root: None, sandboxed: Sandboxed) -> None:
    done = sandboxed("setpriv --reuid 54321 --clear-groups cat /proc/$$/mountstats")
    assert (done.returncode, done.stderr) == (1, f"cat: {done.stderr.split()[1]} Permission denied\n")


def test_the_other_mounts_are_as_they_are(sandboxed: Sandboxed) -> None:
    def lines(text: str) -> list[str]:
        return sorted(line for line in text.splitlines() if line.split()[1] in ("/", "/proc", "/sys", "/dev"))

    assert lines(said(sandboxed("cat /proc/mounts"))) == lines(Path("/proc/mounts").read_text())


def test_a_cgroup_namespace_shows_paths_from_its_root(sandboxed: Sandboxed) -> None:
    inside = (
        "cat /proc/self/cgroup; echo $$ >/sys/fs/cgroup/c/cgroup.procs; cat /proc/self/cgroup /proc/1/cgroup\n"
        "echo $$ >/sys/fs/cgroup/a/b/cgroup.procs; cat /proc/self/cgroup; grep /sys/fs/cgroup /proc/self/mountinfo"
    )
    script = (
        "mkdir -p /sys/fs/cgroup/a/b /sys/fs/cgroup/c; echo $$ >/sys/fs/cgroup/a/cgroup.procs\n"
        f"unshare -C sh -c '{inside}'; cat /proc/self/cgroup"
    )
    without_nsdelegate = {"mount-options": ""}  # with which nobody moves out of his namespace
    *shown, info, outside = said(sandboxed(script, **without_nsdelegate)).splitlines()
    assert shown == ["0::/", "0::/../c", "0::/..", "0::/b"]
    assert (info.split()[3], outside) == ("/..", "0::/a")


def test_the_text_is_that_of_the_moment_it_was_opened(sandboxed: Sandboxed) -> None:
    script = "mkdir /sys/fs/cgroup/a; exec 3</proc/self/cgroup; echo $$ >/sys/fs/cgroup/a/cgroup.procs; cat <&3"
    assert said(sandboxed(script)) == "0::/\n"


def test_a_cgroup_namespace_is_not_taken_for_one_that_has_ended(sandboxed: Sandboxed) -> None:
    script = """
        cd /sys/fs/cgroup
        for name in a b c; do mkdir $name; sh -c "echo 0 >$name/cgroup.procs; unshare -C cat /proc/self/cgroup"; done
    """
    assert said(sandboxed(script)).split() == ["0::/"] * 3


@pytest.mark.parametrize(("layout", "place"), [("v2", "."), ("v1", "pids")])
def test_pids_are_those_of_the_readers_namespace(sandboxed: Sandboxed, layout: str, place: str) -> None:
    assert said(sandboxed(f"cd /sys/fs/cgroup/{place}\n{SCRIPT}", layout=layout)) == SEEN[layout]


@pytest.mark.parametrize(
    ("layout", "kernel", "place"), [("v2", "6.12", "."), ("v1", "6.1", "cpuset"), ("v1", "6.12", "pids")]
)
def test_the_cpuset_of_a_process_is_the_one_that_holds_for_it(
    sandboxed: Sandboxed, layout: str, kernel: str, place: str
) -> None:
    enabled = "echo +cpuset >cgroup.subtree_control" if layout == "v2" else "echo 0 | tee a/*.cpus a/*.mems >/dev/null"
    script = f"""
        cd /sys/fs/cgroup/{place}; mkdir a; [ -f a/pids.max ] && ! [ -f cgroup.subtree_control ] || {enabled}
        [ {layout} = v2 ] && mkdir a/b && echo $$ >a/b/cgroup.procs || echo $$ >a/cgroup.procs
        cat /proc/self/cpuset /proc/$$/cpuset; unshare -C cat /proc/self/cpuset
    """
    where = "/a" if place != "pids" else "/"
    assert said(sandboxed(script, layout=layout, kernel=kernel)).split() == [
        where,
        where,
        "/.." if layout == "v2" else "/",
    ]


def test_newer_kernels_have_no_cpuset_in_proc(sandboxed: Sandboxed) -> None:
    assert said(sandboxed("cat /proc/self/cpuset 2>/dev/null || echo none", kernel="7.2")) == "none\n"


def test_a_new_thread_is_where_its_process_is(sandboxed: Sandboxed, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(
        "import pathlib, threading\n"
        "show = lambda: print(pathlib.Path('/proc/thread-self/cgroup').read_text(), end='')\n"
        "thread = threading.Thread(target=show); thread.start(); thread.join()\n"
    )
    script = f"cd /sys/fs/cgroup; mkdir a; echo $$ >a/cgroup.procs; '{sys.executable}' {program}"
    assert said(sandboxed(script)) == "0::/a\n"


@pytest.mark.parametrize("file", ["self/cgroup", "thread-self/cgroup", "1/cgroup"])
def test_the_proc_of_a_pid_namespace_above(sandboxed: Sandboxed, file: str) -> None:
    script = f"unshare -pf --mount-proc unshare -pf sh -c 'cat /proc/{file}; cd /proc; cat {file}'"
    assert said(sandboxed(script)) == "0::/\n" * 2


PATHS_AND_TOO_MANY = """
import os, resource
for name in ("cgroup", "mountinfo"):
    path = os.open(f"/proc/self/{name}", os.O_PATH)
    print(open(f"/proc/self/fd/{path}").read() == open(f"/proc/self/{name}").read())
    os.close(path)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
for name in ("cgroup", "mountinfo"):
    try:
        os.open(f"/proc/self/{name}", os.O_RDONLY)
    except OSError as error:
        print(error.strerror)
"""


def test_opened_as_a_path_and_by_a_process_with_too_many_files(sandboxed: Sandboxed) -> None:
    shown = said(sandboxed(f"'{sys.executable}' -c '{PATHS_AND_TOO_MANY}'"))
    assert shown == "True\nTrue\n" + "Too many open files\n" * 2
