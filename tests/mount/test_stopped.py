"""`mount` and `umount` on a daemon that does not answer, or that others still use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakecgroup_mount.host.mountinfo import mount_at

from ..waiting import wait_until
from .conftest import REPOSITORY, Mount, daemon_of, is_alive, needs_fuse, needs_root, run, take_down

pytestmark = needs_fuse


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stops a process, and continues it at the end if it still lives."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: "\nState:\tT" in Path(f"/proc/{pid}/status").read_text())
        yield
    finally:
        if is_alive(pid):
            os.kill(pid, signal.SIGCONT)


def refused(*arguments: str | Path) -> str:
    """The one line of a command that failed, without a traceback."""
    done = run(*arguments, timeout=100)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    return done.stderr


@pytest.mark.hostile("umount and mount where the daemon is stopped", times=2)
def test_a_stopped_daemon_is_named_with_what_to_do(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    with stopped(pid):
        for command in ("umount", "mount"):
            said = refused(command, tree)
            assert f"its daemon (pid {pid}) is stopped: kill -CONT {pid} lets it go on; " in said
            assert f"fakecgroup umount --force {tree} ends it" in said
    assert run("umount", tree).returncode == 0


def test_a_stopped_daemon_is_ended_by_force(mount: Mount) -> None:
    tree = mount()
    pid = daemon_of(tree)
    with stopped(pid):
        done = run("umount", "--force", tree)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (mount_at(str(tree)), is_alive(pid)) == (None, False)


@pytest.mark.hostile("Ctrl-C while umount waits for a daemon that never answers")
def test_ctrl_c_ends_the_wait_for_a_daemon_that_does_not_answer(mount: Mount) -> None:
    tree = mount()
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from fakecgroup_mount.cli import program as cli; from fakecgroup_mount.fuse import daemons\n"
        "daemons.refuse_stopped = lambda mount: None\n"  # as on kernels that do not tell who it is
        f"raise SystemExit(cli.main(['umount', {str(tree)!r}]))"
    )
    with (
        stopped(daemon_of(tree)),
        subprocess.Popen(
            [sys.executable, "-c", script], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process,
    ):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        asking = int(wait_until(children.read_text).split()[0])
        wait_until(lambda: asks_for_an_attribute(asking))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (1, "fakecgroup umount: interrupted\n")


def asks_for_an_attribute(pid: int) -> bool:
    """Whether a process is in getxattr(2) (x86-64, arm64)."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] in ("191", "8")


@contextmanager
def elsewhere(tree: Path, place: Path) -> Iterator[int]:
    """A process with a mount namespace of its own, in which the tree is at another place."""
    script = 'mount --bind "$1" "$2"; umount "$1"; echo; exec sleep 1000'
    command = ["unshare", "-m", "--propagation=slave", "sh", "-c", script, "-", str(tree), str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


@needs_root
def test_a_copy_in_another_mount_namespace_is_named(mount: Mount, tmp_path: Path) -> None:
    tree = mount()
    pid = daemon_of(tree)
    with elsewhere(tree, tmp_path):
        said = refused("umount", tree)
        assert (
            f"{tree} is unmounted here, but its daemon (pid {pid}) goes on: the tree is still mounted at {tmp_path}"
            in said
        )
        assert "in the mount namespace of process" in said
        assert mount_at(str(tree)) is None
        assert is_alive(pid)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not is_alive(pid))


@needs_root
def test_the_daemon_of_a_copy_in_another_mount_namespace_is_ended_by_force(mount: Mount, tmp_path: Path) -> None:
    tree = mount()
    pid = daemon_of(tree)
    with elsewhere(tree, tmp_path):
        done = run("umount", "--force", tree)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert not is_alive(pid)


def test_a_tree_in_use_is_unmounted_by_force(mount: Mount) -> None:
    tree = mount()
    pid = daemon_of(tree)
    with (tree / "cgroup.procs").open():
        assert run("umount", "--force", tree).returncode == 0
    assert (mount_at(str(tree)), is_alive(pid)) == (None, False)


ASKS = """
import os, sys
print(flush=True)
try:
    while True:
        os.statvfs(sys.argv[1])
except OSError as error:
    print(error.errno, flush=True)
"""
WATCHED = """
import os, sys
from inotify_simple import INotify, flags
inotify = INotify()
inotify.add_watch(sys.argv[1] + "/a/cgroup.events", flags.MODIFY)
print(flush=True)
number = 0
try:
    while True:
        number = 1 - number
        with open(sys.argv[1] + "/a/cgroup.freeze", "w") as file:
            file.write(str(number))
except OSError as error:
    print(error.errno, flush=True)
"""


@pytest.mark.hostile("SIGKILL to a daemon in the middle of its answers", times=4)
@pytest.mark.parametrize("program", [ASKS, WATCHED], ids=["statfs", "events"])
def test_a_daemon_that_is_killed_leaves_nobody_waiting(mount: Mount, program: str) -> None:
    tree = mount()
    (tree / "a").mkdir()
    command = [sys.executable, "-c", program, str(tree)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "\n"
        pid = daemon_of(tree)
        os.kill(pid, signal.SIGKILL)
        for process in processes:
            assert process.communicate(timeout=60)[0].strip().isdecimal()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    wait_until(lambda: not is_alive(pid))
    assert run("mount", tree).returncode == 0
    assert run("umount", tree).returncode == 0


@pytest.mark.parametrize("name", ["it's $HOME", 'two"\nlines', "\x1b[31mred\udcff"])
def test_a_hint_can_be_pasted(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir()
    try:
        done = run("mount", directory)
        assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
        words = done.stdout.partition("unmount it with: fakecgroup ")[2].rstrip("\n")
        pasted = subprocess.run(["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True).stdout
        assert pasted == b"umount\0" + os.fsencode(directory) + b"\0"
        assert refused("mount", directory).count("\n") == 1
    finally:
        take_down(directory)
