"""The life of a mount and of its daemon."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakecgroup_mount.control.directory import CONTROL_XATTR
from fakecgroup_mount.fuse.about import DAEMON_XATTR
from fakecgroup_mount.host.mountinfo import mount_at
from fakecgroup_mount.host.newest_pid import FILES

from ..waiting import wait_until
from .conftest import (
    COMMAND,
    REPOSITORY,
    Mount,
    daemon_of,
    is_alive,
    needs_fuse,
    needs_fusermount,
    needs_root,
    run,
    shell,
    take_down,
)

pytestmark = needs_fuse


def wait_for_end_of(pid: int) -> None:
    """Waits until a process has ended."""
    wait_until(lambda: not is_alive(pid))


def test_mount_returns_when_the_tree_answers(directory: Path, transport: str) -> None:
    done = run("mount", directory, f"--transport={transport}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (directory / "cgroup.procs").exists()


def test_a_daemon_that_has_loaded_all_looks_for_reference_cycles(
    directory: Path, transport: str, tmp_path: Path
) -> None:
    told = f"""
import gc, sys
from pathlib import Path
from fakecgroup_mount.cli import main
from fakecgroup_mount.fuse import serve as module
serve = module.serve

def watched(*given, ready, **options):
    def tell():
        Path({str(tmp_path / "enabled")!r}).write_text(str(gc.isenabled()))
        ready()
    serve(*given, ready=tell, **options)

module.serve = watched
sys.exit(main())
"""
    command = [sys.executable, "-c", told, "mount", str(directory), f"--transport={transport}"]
    subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, check=True)
    assert (tmp_path / "enabled").read_text() == "True"


def test_mount_says_in_one_line_how_to_unmount(directory: Path, transport: str) -> None:
    said = run("mount", directory, f"--transport={transport}").stdout
    assert said == f"v2 tree of kernel 6.12 at {directory}; unmount it with: fakecgroup umount {directory}\n"


def test_mountinfo_names_the_tree(directory: Path, transport: str) -> None:
    run("mount", directory, f"--transport={transport}")
    found = mount_at(str(directory))
    assert found is not None
    assert (found.fstype, found.source) == ("fuse.fakecgroup", "fakecgroup")


def test_umount_waits_for_the_daemon(directory: Path, transport: str) -> None:
    run("mount", directory, f"--transport={transport}")
    pid = daemon_of(directory)
    done = run("umount", directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (mount_at(str(directory)), is_alive(pid)) == (None, False)


@pytest.mark.hostile("the command that starts a daemon is killed before the daemon is ready")
def test_nothing_is_left_of_a_mount_whose_command_was_killed(directory: Path, tmp_path: Path) -> None:
    daemon = tmp_path / "daemon"
    killed = f"""
import os, signal, sys
from pathlib import Path
from fakecgroup_mount.cli import main
from fakecgroup_mount.fuse import serve as module
front, serve = os.getpid(), module.serve

def late(*given, ready, **options):
    def kill_first():
        os.kill(front, signal.SIGKILL)
        while Path(f"/proc/{{front}}").exists():
            pass
        Path({str(daemon)!r}).write_text(str(os.getpid()))
        ready()
    serve(*given, ready=kill_first, **options)

module.serve = late
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", killed, "mount", str(directory)], cwd=REPOSITORY, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_for_end_of(int(wait_until(lambda: daemon.exists() and daemon.read_text())))
    assert mount_at(str(directory)) is None


@needs_root
def test_plain_umount_ends_the_daemon(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    subprocess.run(["umount", str(tree)], check=True)
    wait_for_end_of(pid)


@needs_fusermount
def test_fusermount_ends_the_daemon(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    subprocess.run(["fusermount3", "-u", str(tree)], check=True)
    wait_for_end_of(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_end_unmounts(mount: Mount, transport: str, number: int) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    os.kill(pid, number)
    wait_for_end_of(pid)
    assert mount_at(str(tree)) is None


def test_sigterm_ends_the_daemon_of_a_tree_in_use(mount: Mount) -> None:
    tree = mount()
    pid = daemon_of(tree)
    with (tree / "cgroup.procs").open():
        os.kill(pid, signal.SIGTERM)
        wait_for_end_of(pid)
        assert mount_at(str(tree)) is None


def test_sigterm_ends_a_daemon_that_watches_processes(
    mount: Mount, sleeper: Callable[..., subprocess.Popen[bytes]]
) -> None:
    tree = mount()
    pid = daemon_of(tree)
    (tree / "a").mkdir()
    (tree / "a" / "cgroup.procs").write_text(str(sleeper().pid))
    with (tree / "cgroup.procs").open():
        os.kill(pid, signal.SIGTERM)
        wait_for_end_of(pid)


def test_a_command_substitution_does_not_wait_for_the_daemon(directory: Path, transport: str) -> None:
    command = " ".join(f"'{word}'" for word in [*COMMAND, "mount", str(directory), f"--transport={transport}"])
    done = subprocess.run(
        ["sh", "-c", f'said=$({command}); echo "<$said>"'], capture_output=True, text=True, timeout=20
    )
    assert done.stdout.startswith("<v2 tree")


def own_socket(tree: Path) -> str:
    """The control socket as /proc/PID/fd shows it; fusepy has none."""
    try:
        path = os.getxattr(tree, CONTROL_XATTR).decode()
    except OSError:
        return ""
    with open("/proc/net/unix") as file:
        # the kernel shows the name that a socket was bound to, before it was renamed
        return next(f"socket:[{line.split()[6]}]" for line in file if line.split()[-1].startswith(path[:-5]))


def test_the_daemon_keeps_no_file_of_its_starter(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    kept = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")} - {own_socket(tree), *FILES}
    strange = [
        name for name in kept if not re.match(r"/dev/(null|fuse)$|anon_inode:|/memfd:|/tmp/#|/.* \(deleted\)$", name)
    ]
    assert strange == []


def test_the_daemon_is_at_home_in_the_root_directory(mount: Mount, transport: str) -> None:
    assert os.readlink(f"/proc/{daemon_of(mount(transport=transport))}/cwd") == "/"


def test_the_daemon_leads_a_session_of_its_starter_no_more(mount: Mount, transport: str) -> None:
    assert os.getsid(daemon_of(mount(transport=transport))) != os.getsid(0)


def test_the_pid_of_the_daemon_is_not_listed(mount: Mount, transport: str) -> None:
    assert DAEMON_XATTR not in os.listxattr(mount(transport=transport))


def test_a_dead_mount_is_replaced(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    os.kill(pid, signal.SIGKILL)
    wait_for_end_of(pid)
    done = run("mount", tree, f"--transport={transport}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tree / "cgroup.procs").exists()
    run("umount", tree)
    assert mount_at(str(tree)) is None


def test_a_dead_mount_is_unmounted(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    pid = daemon_of(tree)
    os.kill(pid, signal.SIGKILL)
    wait_for_end_of(pid)
    done = run("umount", tree)
    assert (done.returncode, done.stderr, mount_at(str(tree))) == (0, "", None)


def test_foreground_answers_until_it_is_told_to_end(directory: Path, transport: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "mount", str(directory), "--foreground", f"--transport={transport}"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "unmount it with" in process.stdout.readline()
        assert daemon_of(directory) == process.pid
        process.terminate()
        assert process.wait(60) == 0
    assert mount_at(str(directory)) is None


def test_a_relative_directory_is_found(directory: Path) -> None:
    done = run("mount", directory.name, cwd=directory.parent, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    assert done.returncode == 0, done.stderr
    assert run("umount", f"{directory.name}/", cwd=directory.parent).returncode == 0


@pytest.mark.parametrize("name", ["with space", "a,b=c", "\\134", "-x", "käse"])
def test_a_directory_may_have_any_name(tmp_path: Path, transport: str, name: str) -> None:
    (tmp_path / name).mkdir()
    try:
        done = run("mount", tmp_path / name, f"--transport={transport}")
        assert (done.returncode, done.stderr) == (0, "")
        done = run("umount", "--force", tmp_path / name)  # others' sandboxes may have a copy of the mount
        assert (done.returncode, done.stderr) == (0, "")
    finally:
        take_down(tmp_path / name)


# -- refusals -----------------------------------------------------------------------------------------


def refused(*arguments: str | Path) -> str:
    """The one line of a command that failed, without a traceback."""
    done = run(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    return done.stderr


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "No such file or directory; make it first" in refused("mount", tmp_path / "nothing")


def test_a_file_is_no_place_for_a_tree(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "Not a directory" in refused("mount", tmp_path / "file")


def test_a_directory_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is not empty" in refused("mount", tmp_path)


def test_a_second_tree_at_the_same_place_is_refused(mount: Mount, transport: str) -> None:
    assert "is a fakecgroup tree already" in refused("mount", mount(transport=transport))


@needs_root
def test_a_place_with_another_file_system_is_refused(directory: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "none", str(directory)], check=True)
    try:
        assert "is a mount point already (tmpfs)" in refused("mount", directory)
        assert "is no fakecgroup tree but tmpfs" in refused("umount", directory)
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_umount_of_what_is_not_mounted_is_refused(directory: Path) -> None:
    assert "is not a mount point" in refused("umount", directory)


def test_umount_of_a_cgroup_says_where_the_tree_is(mount: Mount) -> None:
    tree = mount()
    (tree / "a").mkdir()
    assert f"is not a mount point; the tree it is in is mounted at {tree}" in refused("umount", tree / "a")


def test_umount_of_a_tree_in_use_is_refused(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    with (tree / "cgroup.procs").open():
        assert "is busy" in refused("umount", tree)
    assert (tree / "cgroup.procs").exists()


@needs_root
def test_a_mount_without_the_capability_is_refused(directory: Path) -> None:
    script = (
        f"setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin -- {' '.join(map(repr, COMMAND))} mount {directory}"
    )
    status, _, said = shell(f"cd {os.getcwd()}; {script}", directory)
    assert (status, said.count("\n")) == (1, 1)
    assert "Operation not permitted; mounting takes CAP_SYS_ADMIN" in said


@needs_root
def test_a_missing_device_is_refused(directory: Path) -> None:
    command = " ".join(map(repr, COMMAND))
    script = f"mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && exec {command} mount {directory}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "/dev/fuse is missing" in done.stderr


# -- the command line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--kernel=2.6",), "6.12 for v2"),
        (("--layout=v3",), "v3"),
        (("--cpus=0",), "'0' is not a whole number from 1 to 8192"),
        (("--cpus=two",), "'two' is not a whole number from 1 to 8192"),
        (("--memory=8Q",), "'8Q' is no size"),
        (("--memory=0",), "without memory"),
        (("--swap=8Q",), "'8Q' is no size"),
        (("--transport=nfs",), "nfs"),
        (("--no-such-option",), "no-such-option"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(directory: Path, arguments: tuple[str], complaint: str) -> None:
    done = run("mount", directory, *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert complaint in done.stderr
    assert mount_at(str(directory)) is None


def test_the_tree_is_that_of_the_options(mount: Mount) -> None:
    tree = mount(layout="v1", kernel="6.1", cpus="3")
    assert (tree / "cpu" / "cpu.shares").exists()
