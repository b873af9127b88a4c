"""CPUs are taken offline and come back: `cpuN/online` takes what a kernel takes, and all that tells of CPUs follows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from program_matrix import plain_user

from ..conftest import COMMAND, REPOSITORY
from .conftest import Sandboxed, said

CPU = "cd /sys/devices/system/cpu\n"
BEGIN = "set -e; cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir a; echo 2-3 >a/cpuset.cpus\n"
OFF, ON = "/sys/devices/system/cpu/cpu{}/online".format, "/sys/devices/system/cpu/cpu{}/online".format
ERRNO = """
import os, sys
try:
    fd = os.open(sys.argv[1], os.O_WRONLY)
    os.write(fd, sys.argv[2].encode())
    print(0)
except OSError as error:
    print(error.errno)
"""


def printed(sandboxed: Sandboxed, script: str, **options: str) -> list[str]:
    """The words that a script prints in front of a machine with 8 CPUs."""
    return said(sandboxed(script, **{"cpus": "8", "numa-nodes": "2", **options})).split()


def errno(sandboxed: Sandboxed, path: str, text: str, before: str = ":", **options: str) -> int:
    script = f"{before}; '{sys.executable}' -c '{ERRNO}' {path} '{text}'"
    return int(printed(sandboxed, script, **options)[-1])


def test_whoever_counts_cpus_counts_those_that_are_online(sandboxed: Sandboxed) -> None:
    script = f"""
        echo 0 >{OFF(7)}; echo 0 >{OFF(2)}
        nproc; nproc --all; grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat
        getconf _NPROCESSORS_ONLN; '{sys.executable}' -c 'import os; print(len(os.sched_getaffinity(0)))'
    """
    assert printed(sandboxed, script) == ["6", "8", "6", "6", "6", "6"]


def test_sysfs_tells_which_cpus_are_online(sandboxed: Sandboxed) -> None:
    script = f"""{CPU} echo off >cpu6/online; cat online offline present possible cpu6/online cpu5/online
        cat ../node/node1/cpulist cpu5/topology/core_siblings_list; ls -d cpu6 cpu6/topology 2>/dev/null
        echo 1 >cpu6/online; cat online cpu6/topology/core_siblings_list"""
    words = printed(sandboxed, script)
    assert words == [*("0-5,7", "6", "0-7", "0-7", "0", "1", "4-5,7", "4-5,7", "cpu6", "0-7", "4-7")]


def test_what_goes_with_a_cpu_is_gone_at_once(sandboxed: Sandboxed) -> None:
    script = f"""{CPU} ls cpu6/topology/core_id; ls -d cpu6/node1; echo 0 >cpu6/online; ls -d cpu6/topology 2>&1 || :
        ls cpu6/topology/core_id 2>/dev/null || ls -d cpu6/node1"""
    words = printed(sandboxed, script)
    assert (words[:2], words[-1]) == (["cpu6/topology/core_id", "cpu6/node1"], "cpu6/node1")
    assert "cpu6/topology" not in words


@pytest.mark.skipif(shutil.which("lscpu") is None, reason="no lscpu")
def test_lscpu_tells_them_apart(sandboxed: Sandboxed) -> None:
    script = f"echo 0 >{OFF(3)}; lscpu | grep -E '(On|Off)-line' | sed 's/.*: *//'"
    assert printed(sandboxed, script) == ["0-2,4-7", "3"]


def test_cpusets_and_tasks_follow(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo $$ >a/cgroup.procs; nproc; echo 0 >{OFF(2)}; nproc; cat a/cpuset.cpus.effective
        echo 0 >{OFF(3)}; nproc; cat a/cpuset.cpus.effective cpuset.cpus.effective; echo 1 >{ON(2)}; nproc
        grep _allowed_list /proc/self/status | head -1"""
    words = printed(sandboxed, script)
    assert words == [*("2", "1", "3", "6", "0-1,4-7", "0-1,4-7", "1", "Cpus_allowed_list:", "2")]


def test_tasks_of_a_v1_cpuset_without_a_cpu_move_up(sandboxed: Sandboxed) -> None:
    script = f"""set -e; cd /sys/fs/cgroup/cpuset; mkdir a; echo 3 >a/cpuset.cpus; echo 0 >a/cpuset.mems
        echo $$ >a/tasks; nproc; echo 0 >{OFF(3)}; nproc; cat /proc/self/cpuset a/tasks a/cpuset.cpus"""
    assert printed(sandboxed, script, layout="v1", kernel="6.1") == ["1", "7", "/"]


@pytest.mark.parametrize(("kernel", "state"), [("6.1", "root invalid"), ("7.2", "root invalid")])
def test_a_partition_that_loses_its_last_cpu_is_invalid(sandboxed: Sandboxed, kernel: str, state: str) -> None:
    script = f"""{BEGIN} echo 3 >a/cpuset.cpus; echo root >a/cpuset.cpus.partition; sleep 100 & echo $! >a/cgroup.procs
        echo 0 >{OFF(3)}; cat a/cpuset.cpus.partition; echo 1 >{ON(3)}; cat a/cpuset.cpus.partition; kill $!"""
    words = printed(sandboxed, script, kernel=kernel)
    assert (" ".join(words[:2]), words[-1]) == (state, "root")


def test_what_is_no_truth_value_is_refused(sandboxed: Sandboxed) -> None:
    assert [errno(sandboxed, OFF(3), text) for text in ("2", "x", " 1", "0")] == [22, 22, 22, 0]


def test_the_last_cpu_of_a_partition_is_busy_on_6_12(sandboxed: Sandboxed) -> None:
    before = f"{BEGIN} echo 3 >a/cpuset.cpus; echo root >a/cpuset.cpus.partition"
    assert errno(sandboxed, OFF(3), "0", before, kernel="6.12") == 16


def test_the_first_cpu_and_other_files_are_not_to_be_written(sandboxed: Sandboxed) -> None:
    assert errno(sandboxed, OFF(0), "0") == 2
    assert errno(sandboxed, "/sys/devices/system/cpu/online", "0-1") == 13


def test_modes_and_owners_stay(sandboxed: Sandboxed) -> None:
    script = f"chmod 600 {OFF(3)} 2>&1 || chown 1 {OFF(3)} 2>&1 || stat -c %a:%u {OFF(3)}; : >{OFF(3)}; cat {OFF(3)}"
    assert printed(sandboxed, script)[-2:] == ["644:0", "1"]


def test_nothing_is_made_or_removed_as_in_sysfs(sandboxed: Sandboxed) -> None:
    program = """
import os
os.chdir("/sys/devices/system/cpu")
def tried(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return error.errno
print(tried(os.mkdir, "x"), tried(os.open, "x", os.O_WRONLY | os.O_CREAT), tried(os.unlink, "cpu3/online"))
print(tried(os.rmdir, "cpu3/topology"), tried(os.symlink, "a", "x"), tried(os.rename, "cpu3", "x"))
print(tried(os.link, "online", "x"), tried(os.mkfifo, "x"))
"""
    assert printed(sandboxed, f"'{sys.executable}' -c '{program}'") == ["1", "13", "1", "1", "1", "1", "1", "1"]


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
@pytest.mark.usefixtures("root")
def test_only_the_sandboxs_root_may_write(sandboxed: Sandboxed) -> None:
    script = f"""setpriv --reuid 1000 --clear-groups sh -c 'echo 0 >{OFF(3)}' 2>/dev/null || echo refused
        setpriv --bounding-set=-all --inh-caps=-all --reuid 0 sh -c 'echo 0 >{OFF(3)}' && cat {OFF(3)}"""
    assert printed(sandboxed, script) == ["refused", "0"]


def test_a_plain_users_root_may_write_too(fuse: None, sandboxed: Sandboxed) -> None:
    if not plain_user.is_plain():
        pytest.skip("a plain user has no Python here that finds this checkout")
    script = f"id -u; ls -ln {OFF(3)} | cut -d' ' -f3; echo 0 >{OFF(3)}; nproc; {CPU} cat offline"
    with tempfile.TemporaryDirectory(prefix="fcg-plain-") as home:
        os.chmod(home, 0o777)
        done = subprocess.run(
            [*plain_user.fakecgroup_command(), "run", "--cpus=8", "--", "sh", "-c", script],
            cwd="/",
            env=plain_user.environment(Path(home)),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    assert said(done).split() == ["0", "0", "7", "3"]


def test_an_inherited_directory_of_sysfs_hinders_nobody(fuse: None, state_home: object) -> None:
    fd = os.open("/sys/devices/system/cpu/cpu0", os.O_RDONLY | os.O_DIRECTORY)
    try:
        done = subprocess.run(
            [*COMMAND, "run", "--cpus=8", "--", "true"],
            pass_fds=(fd,),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(fd)
    assert done.returncode == 0 or "is another directory in the command's namespaces" in done.stderr, done


def test_a_thousand_cpus_come_and_go(sandboxed: Sandboxed) -> None:
    script = f"for cpu in 1 500 999; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online; done; nproc; {CPU} cat offline"
    assert printed(sandboxed, script, cpus="1000") == ["997", "1,500,999"]
