"""`run` without free descriptors, processes or namespaces, or with another /proc: it works or says what is wrong."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

import pytest

from ..conftest import COMMAND, REPOSITORY, needs_root
from ..test_plain_user import command, python_path
from .conftest import Sandboxed

MANY = """
cd /sys/fs/cgroup; mkdir a; echo $$ >a/cgroup.procs
i=0; while [ $i -lt {number} ]; do sleep 1000 & i=$((i+1)); done
[ $(grep -c . a/cgroup.procs) -ge {number} ] && echo listed
"""


def tried(
    before: str,
    *argv: str,
    under: tuple[str, ...] = (),
    fakecgroup: Sequence[str] = COMMAND,
    options: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """`fakecgroup run` of a command, after a line of sh."""
    words = " ".join(map(shlex.quote, [*fakecgroup, "run", *options, "--", *argv]))
    return subprocess.run(
        [*under, "sh", "-c", f"{before}; exec {words}"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": python_path()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a command that failed, without a traceback."""
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done
    assert done.stderr.startswith("fakecgroup run: ")
    return done.stderr


@pytest.mark.hostile("more processes in a sandbox than its server may have open files", times=360)
@pytest.mark.parametrize(("descriptors", "number"), [(256, 300), (32, 60)])
def test_more_processes_than_descriptors_are_followed(sandboxed: Sandboxed, descriptors: int, number: int) -> None:
    done = tried(f"ulimit -n {descriptors}", "sh", "-c", MANY.format(number=number))
    assert (done.returncode, done.stdout, done.stderr) == (0, "listed\n", "")


GROWS = f"""
cd /sys/fs/cgroup; echo +memory >cgroup.subtree_control; mkdir a; echo 64M >a/memory.max; echo $1 >a/memory.oom.group
i=0; while [ $i -lt 60 ]; do (echo 0 >a/cgroup.procs; exec sleep 1000) & i=$((i+1)); done
until [ $(grep -c . a/cgroup.procs) = 60 ]; do sleep 0.05; done
sh -c 'echo $$ >a/cgroup.procs; exec "$@"' sh {sys.executable} -S -E -c 'x = bytearray(200 << 20); input()'
echo $?; grep -w oom_kill a/memory.events; grep -c . a/cgroup.procs
"""


@pytest.mark.hostile("a process grows over its limit among more than the server may have open files", times=2)
@pytest.mark.parametrize(("group", "killed", "left"), [("0", 1, 60), ("1", 62, 0)])
def test_limits_on_memory_act_on_more_processes_than_descriptors(
    sandboxed: Sandboxed, group: str, killed: int, left: int
) -> None:
    script = ("sh", "-c", GROWS, "sh", group)
    done = tried("ulimit -n 64", *script, options=("--enforce", "memory"))
    assert done.stdout.splitlines() == ["137", f"oom_kill {killed}", str(left)]


def test_too_few_descriptors_are_refused_with_one_line(sandboxed: Sandboxed) -> None:
    assert "ulimit -n is 16: at least 32" in complaint(tried("ulimit -n 16", "true"))


@needs_root
@pytest.mark.hostile("as few processes as a user can have", times=3)
@pytest.mark.parametrize("processes", [1, 3, 6])
def test_too_few_processes_are_refused_with_one_line(sandboxed: Sandboxed, processes: int) -> None:
    uid = 54390 + processes  # somebody who has no other process
    under = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "prlimit", f"--nproc={processes}")
    done = tried("true", "true", under=under, fakecgroup=command(uid))
    assert "ulimit" in complaint(done)


@pytest.mark.parametrize("kind", ["user", "mnt", "cgroup"])
def test_no_more_namespaces_are_told_with_one_line(sandboxed: Sandboxed, kind: str) -> None:
    before = f"echo 0 >/proc/sys/user/max_{kind}_namespaces"
    done = tried(before, "true", under=("unshare", "-Ur"))
    assert f"sysctl user.max_{kind}_namespaces is at its limit" in complaint(done)


def test_the_proc_of_another_pid_namespace_is_told_with_one_line(sandboxed: Sandboxed) -> None:
    done = tried("true", "true", under=("unshare", "-Urmpf"))
    assert "/proc is of another pid namespace" in complaint(done)
    assert "mount -t proc proc /proc" in done.stderr
