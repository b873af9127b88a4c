"""RLIMIT_LOCKS, which marks processes: a program sees its own value, and its children are followed when it sets it."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys

from fakecgroup_mount.host.fork_marks import LOCKS

from .conftest import Sandboxed, said

PROGRAM = """
import os, resource
locks = 10
def tell(*limit, pid=0):
    try:
        return resource.prlimit(pid, locks, *limit)
    except (OSError, ValueError) as error:
        return error.args[0]
def child():
    pid = os.fork()
    if pid == 0:
        shown = [line.split()[3:5] for line in open("/proc/self/limits") if line.startswith("Max file locks")]
        same = tell() == tell(pid=os.getppid()) == resource.getrlimit(locks)
        print(*shown[0], same, open("/proc/self/cgroup").read(), end="")
        os._exit(0)
    os.waitpid(pid, 0)
for place in ["a", "."]:
    open(f"{place}/cgroup.procs", "w").write("0")
    child()
    print(tell((70, 80)))
    child()
    print(tell((81, 80)), tell((50, 90)), tell(pid=1 << 21), tell(pid=-1))
    print(tell((70, 80), pid=os.getpid()))
    child()
"""


def test_a_program_sets_its_own_limit_and_its_children_are_followed(sandboxed: Sandboxed) -> None:
    script = f"cd /sys/fs/cgroup; mkdir a; '{sys.executable}' -uc '{PROGRAM}'"
    refused = f"current limit exceeds maximum limit {errno.EPERM} {errno.ESRCH} {errno.ESRCH}"
    assert said(sandboxed(script)).splitlines() == [
        *("unlimited unlimited True 0::/a", "(-1, -1)", "70 80 True 0::/a", refused, "(70, 80)", "70 80 True 0::/a"),
        *("70 80 True 0::/", "(70, 80)", "70 80 True 0::/", refused, "(70, 80)", "70 80 True 0::/"),
    ]


def test_ulimit_and_the_text_of_proc_show_the_same(sandboxed: Sandboxed) -> None:
    script = """
        cd /sys/fs/cgroup; mkdir a; echo 0 >a/cgroup.procs; echo $$ >a/cgroup.procs
        bash -c 'ulimit -x; ulimit -x 77; ulimit -x; sh -c "cat /proc/self/cgroup; grep locks /proc/self/limits"'
    """
    text = f"{'Max file locks':25} {77:<20} {77:<20} locks     \n"
    assert said(sandboxed(script)) == f"unlimited\n77\n0::/a\n{text}"


def test_the_limit_of_a_process_outside_is_its_own(sandboxed: Sandboxed) -> None:
    with subprocess.Popen(["sleep", "100"]) as outside:
        said(sandboxed(f"prlimit --pid {outside.pid} --locks=5:6"))
        limit = resource.prlimit(outside.pid, LOCKS)
        outside.kill()
    assert limit == (5, 6)


def test_the_root_of_an_inner_user_namespace_does_not_see_the_limit_of_another_user(
    root: None, sandboxed: Sandboxed
) -> None:
    stranger = "setpriv --reuid 1234 --regid 1234 --clear-groups"
    done = sandboxed(f"sleep 100 & {stranger} unshare -U prlimit --pid $! --locks; kill $!")
    assert (done.stdout, "Operation not permitted" in done.stderr) == ("", True)
