"""A user without privileges mounts a tree with fusermount3 and plays root in it."""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from .conftest import COMMAND, OTHER_UID, REPOSITORY, is_alive, needs_fuse, needs_fusermount, needs_root

pytestmark = [
    needs_fuse,
    needs_root,
    needs_fusermount,
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv"),
]

# Everything in a mount namespace of the test's own, in which /dev/fuse is open to all as on any distribution.
PROLOGUE = """
set -e
umount -l -a -t fuse.fakecgroup || true  # trees of other tests, which this namespace would keep alive
mount -t tmpfs none "$1"
mknod -m 666 "$1/fuse" c 10 229
mount --bind "$1/fuse" /dev/fuse
if [ -n "$SUBIDS" ]; then
    echo "$2:$SUBIDS" >"$1/subids"
    mount --bind "$1/subids" /etc/subuid
    mount --bind "$1/subids" /etc/subgid
fi
umount -l "$1"
shift
exec setpriv --reuid "$1" --regid "$1" --clear-groups sh -c "$2"
"""

As = Callable[..., "tuple[int, str, str]"]


def some_user() -> int:
    """The uid of a user in /etc/passwd other than root."""
    uids = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0]
    if not uids:
        pytest.skip("no user but root in /etc/passwd")
    return uids[-1]


def python_path() -> str:
    """Where a Python of the system's finds the checkout and fusepy."""
    spec = importlib.util.find_spec("fuse")
    places = [str(REPOSITORY), str(REPOSITORY / "mount")]
    if spec is not None and spec.origin:
        places.append(os.path.dirname(spec.origin))
    return ":".join(places)


@cache
def command(uid: int) -> tuple[str, ...]:
    """`fakecgroup` for a user: with this Python, or with the system's where this one is root's alone."""
    for python in (sys.executable, "/usr/bin/python3"):
        script = f"exec {python} -c 'import fakecgroup_mount.cli.program'"
        tried = subprocess.run(
            # by way of a shell, as setpriv still has root's capabilities when it looks for the program
            ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "sh", "-c", script],
            env={"PYTHONPATH": python_path()},
            cwd="/",
            capture_output=True,
            check=False,
        )
        if tried.returncode == 0:
            return (python, *COMMAND[1:])
    pytest.skip("neither this Python and checkout nor the system's can be used by a plain user")


@pytest.fixture
def home(public_directory: Callable[[], Path]) -> Path:
    """A directory for anyone to work in."""
    place = public_directory()
    place.chmod(0o777)
    return place


@pytest.fixture
def as_user(home: Path, tmp_path_factory: pytest.TempPathFactory) -> As:
    """Runs a sh script as a user in `home`; there, `fakecgroup` is the command."""

    def run(script: str, uid: int | None = None, subids: str = "") -> tuple[int, str, str]:
        user = some_user() if uid is None else uid
        tree = home / "tree"
        tree.mkdir(exist_ok=True)
        os.chown(tree, user, user)
        words = " ".join(f"'{word}'" for word in command(user))
        function = f'fakecgroup() {{ PYTHONPATH={python_path()} {words} "$@"; }}\n'
        device = tmp_path_factory.mktemp("device")
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", PROLOGUE, "sh", str(device), str(user), function + script],
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "LC_ALL": "C",
                "HOME": str(home),
                "XDG_STATE_HOME": str(home),
                "SUBIDS": subids,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if "mknod" in done.stderr:
            pytest.skip(f"no device nodes here: {done.stderr}")
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_user_mounts_works_and_unmounts(as_user: As, transport: str) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree --transport={transport} || exit 9\n"
        "cd tree; mkdir a; echo +pids > cgroup.subtree_control; echo 5 > a/pids.max; cat a/pids.max; rmdir a; cd ..\n"
        "fakecgroup umount tree; grep -c $PWD/tree /proc/self/mountinfo"
    )
    assert (said.splitlines()[1:], complaint) == (["5", "0"], "")


@pytest.mark.parametrize("layout", ["v2", "v1"])
def test_a_user_runs_a_command_in_front_of_a_tree(as_user: As, layout: str) -> None:
    where, shown = ("pids/", "4:pids:/a") if layout == "v1" else ("", "0::/a")
    script = (
        f"cd /sys/fs/cgroup/{where}; mkdir a; id -u; stat -c %u a; echo $$ >a/cgroup.procs; sleep 9 &\n"
        "grep -c . a/cgroup.procs; stat -f -c %t .; grep -E ^0:\\|pids /proc/self/cgroup"
    )
    status, said, complaint = as_user(f"fakecgroup run --layout {layout} -- sh -c '{script}'")
    kind = "63677270" if layout == "v2" else "27e0eb"
    assert (status, said.split(), complaint) == (0, ["0", "0", "3", kind, shown], "")


def test_a_user_has_the_ids_of_its_ranges(as_user: As) -> None:
    if not (shutil.which("newuidmap") and Path("/etc/subuid").exists() and Path("/etc/subgid").exists()):
        pytest.skip("no newuidmap or no /etc/subuid")
    inside = (
        "cat /proc/self/uid_map /proc/self/gid_map; mkdir /sys/fs/cgroup/a; touch x; chown 5:6 x /sys/fs/cgroup/a\n"
        "stat -c %u:%g x /sys/fs/cgroup/a; setpriv --reuid 5 --regid 6 --clear-groups sh -c "
        '"rmdir /sys/fs/cgroup/a; mkdir /sys/fs/cgroup/b; id -u; sleep 300 & echo \\$!"'
    )
    user = next(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid == entry.pw_gid != 0)  # as newuidmap wants it
    status, said, complaint = as_user(f"fakecgroup run -- sh -c '{inside}'", user, "300000:1000")
    lines = said.splitlines()
    assert [line.split() for line in lines[:4]] == [["0", str(user), "1"], ["1", "300000", "1000"]] * 2, complaint
    assert (lines[4:7], complaint.count("Permission denied"), status) == (["5:6", "5:6", "5"], 2, 0)
    assert not is_alive(int(lines[7]))


def test_a_range_that_is_refused_is_done_without(as_user: As) -> None:
    beyond = f"{2**32 - 1}:2"  # a map must end below 2^32 - 1
    _, said, complaint = as_user("fakecgroup run cat /proc/self/uid_map", subids=f"{beyond}\\nnonsense")
    assert (said.split(), complaint) == (["0", str(some_user()), "1"], "")


def test_the_mounter_owns_what_is_roots(as_user: As, transport: str) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree --transport={transport} >&2; stat -c '%u %g' tree/cgroup.procs; fakecgroup umount tree"
    )
    assert said.split() == [str(some_user())] * 2, complaint


def test_the_mounter_moves_processes(as_user: As, transport: str) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree --transport={transport} >&2; cd tree; mkdir a; sleep 60 & echo $! > a/cgroup.procs\n"
        "grep -cx $! a/cgroup.procs; kill $!; wait; cat a/cgroup.procs; rmdir a; cd ..; fakecgroup umount tree"
    )
    assert said == "1\n", complaint


def test_the_mounters_processes_are_followed_and_frozen(as_user: As, transport: str) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree --transport={transport} >&2; cd tree; mkdir a\n"
        "sh -c 'echo 0 > a/cgroup.procs; sleep 60 & echo $! > ../child; wait' & sleep 0.3; child=$(cat ../child)\n"
        "grep -cx $child a/cgroup.procs; echo 1 > a/cgroup.freeze; sleep 0.1; grep -c stopped /proc/$child/status\n"
        "echo 1 > a/cgroup.kill; wait; rmdir a; cd ..; fakecgroup umount tree"
    )
    assert said == "1\n1\n", complaint


EVENTS = """
import ctypes, os, select, subprocess
libc = ctypes.CDLL(None)
child = subprocess.Popen(["sleep", "60"])
os.mkdir("tree/a")
open("tree/a/cgroup.procs", "w").write(str(child.pid))
watch = libc.inotify_init1(0)
libc.inotify_add_watch(watch, b"tree/a/cgroup.events", 2)
polled = open("tree/a/cgroup.events")
polled.read()
poller = select.poll()
poller.register(polled, select.POLLPRI)
child.kill()
print(bool(poller.poll(20000)), bool(select.select([watch], [], [], 20)[0]))
"""


def test_poll_and_inotify_tell_the_mounter(as_user: As) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree >&2; python3 -c '{EVENTS}'; rmdir tree/a; fakecgroup umount tree"
    )
    assert said == "True True\n", complaint


def test_the_mounters_processes_go_on_when_the_daemon_is_killed(as_user: As) -> None:
    _, said, complaint = as_user(
        "fakecgroup mount tree >&2; mkdir tree/a; sleep 60 </dev/null >/dev/null & echo $! >tree/a/cgroup.procs\n"
        "echo 1 >tree/a/cgroup.freeze; until grep -q stopped /proc/$!/status; do sleep 0.05; done; echo stopped\n"
        'kill -9 $(python3 -c \'import os; print(os.getxattr("tree", "user.fakecgroup.daemon").decode())\')\n'
        "for i in $(seq 100); do grep -q sleeping /proc/$!/status && break; sleep 0.05; done\n"
        "grep -c sleeping /proc/$!/status; kill $!; fusermount3 -u tree"
    )
    assert said == "stopped\n1\n", complaint


def test_an_eventfd_of_the_mounter_hears_of_a_removal(as_user: As, transport: str) -> None:
    script = (
        "import os; event = os.eventfd(0, os.EFD_NONBLOCK)\n"
        'control = os.open("a/memory.oom_control", os.O_RDONLY)\n'
        'open("a/cgroup.event_control", "w").write(f"{event} {control}")\n'
        'os.close(control); os.rmdir("a"); print(os.eventfd_read(event))'
    )
    _, said, complaint = as_user(
        f"fakecgroup mount tree --layout=v1 --transport={transport} >&2; cd tree/memory; mkdir a\n"
        f"python3 -c '{script}'; cd ../..; fakecgroup umount tree"
    )
    assert said == "1\n", complaint


def test_a_release_agent_runs_as_the_mounter(as_user: As, transport: str) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree --layout=v1 --transport={transport} >&2\n"
        "echo '#!/bin/sh' >agent; echo \"id -u >$PWD/told; rmdir $PWD/tree/pids\\$1\" >>agent; chmod +x agent\n"
        "echo $PWD/agent >tree/pids/release_agent; echo 1 >tree/pids/notify_on_release; mkdir tree/pids/a\n"
        "sh -c 'echo $$ >tree/pids/a/tasks'\n"
        "for i in $(seq 100); do [ -d tree/pids/a ] || break; sleep 0.05; done\n"
        "cat told; ls -d tree/pids/a; fakecgroup umount tree"
    )
    assert said == f"{some_user()}\n", complaint


@pytest.mark.hostile("root of the mounter's own user namespace sets a release agent")
def test_root_of_the_mounters_user_namespaces_sets_no_release_agent(as_user: As) -> None:
    status, said, complaint = as_user(
        "unshare -Ur true 2>/dev/null || exit 9\n"
        "fakecgroup mount tree --layout=v1 >&2; unshare -Ur sh -c 'echo /agent >tree/pids/release_agent' 2>/dev/null\n"
        "cat tree/pids/release_agent; echo /own >tree/pids/release_agent; cat tree/pids/release_agent\n"
        "unshare -Ur sh -c 'mkdir tree/pids/a && rmdir tree/pids/a && echo made'; fakecgroup umount tree"
    )
    if status == 9:
        pytest.skip("no user namespaces here")
    assert said == "\n/own\nmade\n", complaint


def test_a_file_that_is_read_only_is_opened_by_the_mounter_as_by_root(as_user: As, transport: str) -> None:
    _, said, complaint = as_user(
        f"fakecgroup mount tree --transport={transport} >&2; cd tree; mkdir a; chmod 0 a/cgroup.max.depth\n"
        "cat a/cgroup.max.depth; cd ..; fakecgroup umount tree"
    )
    assert said == "max\n", complaint


@pytest.mark.hostile("a plain user opens a tree to all others")
def test_allow_other_needs_the_administrators_word(as_user: As) -> None:
    if "\nuser_allow_other" in Path("/etc/fuse.conf").read_text():
        pytest.skip("/etc/fuse.conf says user_allow_other")
    status, _, complaint = as_user("fakecgroup mount tree --allow-other")
    assert (status, complaint.count("\n")) == (1, 1)
    assert "user_allow_other" in complaint


def test_conformance_says_first_what_needs_root_and_leaves_it_out(as_user: As) -> None:
    tree = "--cpus 4 --numa-nodes 2 --memory 1073741824 --block-devices 259:0,259:1"
    status, said, complaint = as_user(f"""
        fakecgroup mount tree {tree} >mounted
        fakecgroup conformance --target tree --family delegation
        echo "status $?"
        fakecgroup umount tree
    """)
    assert status == 0, complaint
    assert said.splitlines()[-1] == "status 0"
    needs_root = (
        r"fakecgroup conformance: \d+ of \d+ operations need root and are not compared: \d+ act as another user\n"
    )
    assert re.fullmatch(needs_root, complaint)


def test_a_tree_in_use_is_busy_for_a_user_too(as_user: As) -> None:
    _, said, complaint = as_user(
        "fakecgroup mount tree; cd tree; fakecgroup umount ../tree; echo $?; cd ..; fakecgroup umount tree; echo $?"
    )
    assert said.splitlines()[1:] == ["1", "0"]
    assert "is busy" in complaint


def test_the_dead_mount_of_a_user_is_replaced(as_user: As) -> None:
    script = "import os; print(os.getxattr('tree', 'user.fakecgroup.daemon').decode())"
    _, said, complaint = as_user(
        f'fakecgroup mount tree; kill -9 $(python3 -c "{script}"); sleep 0.2\n'
        "fakecgroup mount tree && ls -d tree/*procs\n"
        "fakecgroup umount tree; echo $?"
    )
    assert said.splitlines()[-2:] == ["tree/cgroup.procs", "0"], complaint


def test_sigterm_unmounts_the_tree_of_a_user(as_user: As, transport: str) -> None:
    script = "import os; print(os.getxattr('tree', 'user.fakecgroup.daemon').decode())"
    _, said, complaint = as_user(
        f"fakecgroup mount tree --transport={transport}\n"
        f'pid=$(python3 -c "{script}"); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done\n'
        "grep -c $PWD/tree /proc/self/mountinfo"
    )
    assert said.splitlines()[-1] == "0", complaint


def test_a_user_whom_fusermount_does_not_know_is_told(as_user: As) -> None:
    with pytest.raises(KeyError):
        pwd.getpwuid(OTHER_UID)
    status, _, complaint = as_user("fakecgroup mount tree", OTHER_UID)
    assert (status, complaint.count("\n")) == (1, 1)
    assert f"uid {OTHER_UID} is not there" in complaint


def test_a_closed_device_is_explained(home: Path) -> None:
    (home / "tree").mkdir()
    os.chown(home / "tree", some_user(), some_user())
    script = (
        'mount -t tmpfs none "$1"; mknod -m 600 "$1/fuse" c 10 229; mount --bind "$1/fuse" /dev/fuse; shift; exec "$@"'
    )
    (home / "device").mkdir()
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(home / "device"), "setpriv", "--reuid", str(some_user()),
         "--clear-groups", *command(some_user()), "mount", str(home / "tree")],
        cwd="/", env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": python_path()},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "/dev/fuse: Permission denied: its mode must let you read and write" in done.stderr


def test_a_users_tests_have_their_trees(as_user: As, home: Path) -> None:
    (home / "test_it.py").write_text("def test_it(cgroupfs): (cgroupfs / 'a').mkdir()")
    packages = os.path.dirname(os.path.dirname(pytest.__file__))
    python = (
        f"PYTHONPATH={python_path()}:{packages} PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 TMPDIR=. {command(some_user())[0]}"
    )
    status, said, _ = as_user(
        f"{python} -c 'import pytest' || exit 77\n{python} -m pytest -q -p fakecgroup_mount.testing.plugin test_it.py\n"
        "grep -c $PWD /proc/self/mountinfo; ls -d fakecgroup-pytest-*"
    )
    if status == 77:
        pytest.skip("pytest cannot be used by a plain user here")
    assert "1 passed" in said
    assert said.splitlines()[-1] == "0"


def doctors_states(said: str) -> dict[str, tuple[str, str | None]]:
    """State and remedy of what `fakecgroup doctor -o json` says, by name."""
    found = json.loads(said)
    return {check["name"]: (check["state"], check["remedy"]) for check in found["commands"] + found["machine"]}


def test_the_doctor_says_what_works_for_a_user(as_user: As) -> None:
    status, said, complaint = as_user("fakecgroup doctor -o json")
    assert complaint == ""
    found = doctors_states(said)
    assert found["mount"] == ("yes", None)
    assert found["/dev/fuse"] == ("yes", None)
    assert found["other users in them"][0] == "partly"
    assert (status == 0) == (found["run"][0] == "yes")


def test_the_doctor_says_what_a_user_lacks_whom_fusermount_does_not_know(as_user: As) -> None:
    status, said, complaint = as_user("fakecgroup doctor -o json", uid=OTHER_UID)
    assert (status, complaint) == (1, "")
    assert doctors_states(said)["mount"] == ("no", f"as root: useradd --uid {OTHER_UID} NAME")


def test_a_user_lists_the_own_tree(as_user: As) -> None:
    _, said, _ = as_user("fakecgroup mount tree >&2; fakecgroup list -o json; fakecgroup umount tree")
    (row,) = json.loads(said)["mounts"]
    assert (row["state"], row["layout"]) == ("serves", "v2")


SCENARIO = "cgroups: {app: }\\nworkloads: [{name: busy, cgroup: app, loop: forever, phases: [{for: 1s, cpu: 1}]}]"


def test_a_user_mounts_a_tree_with_simulated_processes_and_controls_them(as_user: As) -> None:
    _, said, complaint = as_user(
        f"printf '{SCENARIO}' >busy.yaml; fakecgroup mount tree --workload busy.yaml >/dev/null || exit 9\n"
        "fakecgroup ctl tree workload pause busy; fakecgroup ctl tree workload list | tail -1\n"
        "mkdir tree/other; cat tree/app/cgroup.procs >tree/other/cgroup.procs; cat tree/other/cgroup.procs\n"
        "echo 1 >tree/other/cgroup.kill; cat tree/other/cgroup.procs; fakecgroup umount tree"
    )
    assert (said.splitlines(), complaint) == (["busy  paused  1          app", "8388608"], "")


def test_a_user_runs_a_command_beside_simulated_processes(as_user: As) -> None:
    _, said, complaint = as_user(
        f"printf '{SCENARIO}' >busy.yaml\n"
        "cat >inside <<'END'\n"
        "P=$(cat /sys/fs/cgroup/app/cgroup.procs); cat /proc/$P/comm; grep Uid /proc/$P/status\n"
        f"{' '.join(map(repr, command(some_user())))} ctl /sys/fs/cgroup workload list | tail -1\n"
        "kill $P; cat /sys/fs/cgroup/app/cgroup.events\n"
        "END\n"
        f"export PYTHONPATH={python_path()}; fakecgroup run --workload busy.yaml -- sh inside"
    )
    assert (said.splitlines(), complaint) == (
        ["busy", "Uid:\t0\t0\t0\t0", "busy  runs   1          app", "populated 0", "frozen 0"],
        "",
    )


def test_a_user_shows_a_command_another_machine(as_user: As) -> None:
    script = "nproc; cat /sys/devices/system/node/online; grep MemTotal /proc/meminfo; taskset -c 7 nproc"
    options = "--cpus 8 --numa-nodes 2 --memory 4Gi"
    status, said, complaint = as_user(f"fakecgroup run {options} -- sh -c '{script}'")
    assert (status, said.split(), complaint) == (0, ["8", "0-1", "MemTotal:", "4194304", "kB", "1"], "")
