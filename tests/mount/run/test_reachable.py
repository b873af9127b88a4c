"""The machine's own cgroup file systems are out of the command's reach, whatever it does with mounts and namespaces."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakecgroup_mount.host.mountinfo import mounts
from program_matrix import plain_user

from ..conftest import COMMAND, REPOSITORY, run
from .conftest import Sandboxed, said

PROBE = Path(__file__).with_name("reach_probe.py")
SEQUENCES = int(os.environ.get("FAKECGROUP_REACH_SEQUENCES", "15"))
SEED = int(os.environ.get("FAKECGROUP_REACH_SEED", "1"))
STEPS = 10
UNREACHED = f"{SEQUENCES} sequences, steps were possible\n"
LAYOUTS = pytest.mark.parametrize("layout", ["v2", "v1"])


REACH_INTO = """
import ctypes, os
daemon = int(os.getxattr("/sys/fs/cgroup", "user.fakecgroup.daemon"))
links = [f"/proc/{daemon}/{name}" for name in ("root", "cwd", "fd/0", "ns/mnt", "exe")]
traced = ctypes.CDLL(None).ptrace(0x4206, daemon, 0, 0)  # PTRACE_SEIZE
refused = traced == -1
for link in links:
    try:
        os.readlink(link)
    except PermissionError:
        refused += 1
print(refused, "refused")
"""


GO_THROUGH_OTHERS = """
import ctypes, glob, os
tree = os.stat("/sys/fs/cgroup").st_dev
for process in glob.glob("/proc/[0-9]*"):
    for link in ("root", "cwd"):
        for place in ("", "/pids", "/memory", "/systemd", "/unified"):
            try:
                if os.stat(f"{process}/{link}/sys/fs/cgroup{place}").st_dev != tree:
                    os.mkdir(f"{process}/{link}/sys/fs/cgroup{place}/fcg-reached")
                    print(process, link, place)
            except OSError:
                pass
own = {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in ("mnt", "user", "cgroup")}
for process in glob.glob("/proc/[0-9]*"):
    for name, number in own.items():
        try:
            found = os.open(f"{process}/ns/{name}", os.O_RDONLY)
        except OSError:
            continue
        if os.fstat(found).st_ino != number and ctypes.CDLL(None).setns(found, 0) == 0:
            print(name, "of", process)
        os.close(found)
print("done")
"""

CHANGE_ITS_MIND = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
place = sys.argv[1].encode()
kind = ctypes.create_string_buffer(b"tmpfs", 16)
done = False
def change():
    while not done:
        kind.value = b"cgroup2"
        kind.value = b"tmpfs"
threading.Thread(target=change).start()
tree, plain = os.stat("/sys/fs/cgroup").st_dev, os.stat(place).st_dev
found = {"tmpfs": 0, "tree": 0}
buffer = ctypes.create_string_buffer(256)
for turn in range(60):
    if turn % 2:
        failed = libc.mount(b"none", place, kind, 0, None)
    else:
        context = libc.syscall(430, kind, 0)
        libc.syscall(431, context, 6, None, None, 0)
        mounted = libc.syscall(432, context, 0, 0)
        failed = libc.syscall(429, mounted, b"", -100, place, 4)
        os.closerange(3, 9)
    device = os.stat(place).st_dev
    libc.statfs(place, buffer)
    if device == plain:
        continue
    name = "tree" if device == tree else {0x01021994: "tmpfs"}.get(int.from_bytes(buffer[:4], "little"), "reached")
    found[name] = found.get(name, 0) + 1
    libc.umount2(place, 2)
done = True
print(sum(found.values()) > 0, found.get("reached", 0))
"""


def own() -> dict[str, str]:
    """The machine's cgroup file systems that have directories: the path of each, and its device."""
    return {mount.point: mount.device for mount in mounts() if mount.fstype in ("cgroup", "cgroup2")}


@pytest.fixture
def untouched() -> Iterator[None]:
    """No directory is made in the machine's own hierarchies meanwhile, of those that the attempts make."""
    yield
    reached = [path for path in (Path(root, "fcg-reached") for root in own()) if path.exists()]
    for path in reached:
        path.rmdir()
    assert reached == []


@pytest.mark.hostile("mounts moved about at random to find the machine's cgroups", times=150)
@pytest.mark.parametrize("stated", [{"layout": "v2"}, {"layout": "v1"}, {"layout": "v2", "cpus": "64"}], ids=str)
def test_no_sequence_of_mounts_and_namespaces_reaches_them(
    untouched: None, sandboxed: Sandboxed, tmp_path: Path, stated: dict[str, str]
) -> None:
    words = [sys.executable, PROBE, ",".join(own().values()), SEED, SEQUENCES, STEPS, tmp_path]
    assert said(sandboxed(shlex.join(map(str, words)), timeout=600 + 10 * SEQUENCES, **stated)) == UNREACHED


@pytest.mark.hostile("the same by a plain user", times=150)
@LAYOUTS
def test_no_sequence_of_a_plain_users_reaches_them(sandboxed: Sandboxed, layout: str) -> None:
    if not plain_user.is_plain():
        pytest.skip("a plain user has no Python here that finds this checkout")
    command = plain_user.fakecgroup_command()
    python = command[-3]
    with tempfile.TemporaryDirectory(prefix="fcg-reach-") as home:
        os.chmod(home, 0o777)
        words = [*command, "run", f"--layout={layout}", "--", python, PROBE, ",".join(own().values()), SEED, SEQUENCES]
        done = subprocess.run(
            [*map(str, words), str(STEPS), f"{home}/places"],
            cwd="/",
            env=plain_user.environment(Path(home)),
            capture_output=True,
            text=True,
            timeout=600 + 10 * SEQUENCES,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    assert said(done) == UNREACHED


@pytest.mark.hostile("what lies below the tree is unmounted, and a directory made there", times=4)
@LAYOUTS
@pytest.mark.parametrize("flags", ["", "-l"])
def test_below_the_tree_lies_an_empty_directory(untouched: None, sandboxed: Sandboxed, layout: str, flags: str) -> None:
    script = f"""
        cd /; umount {flags} /sys/fs/cgroup/* /sys/fs/cgroup; umount -l /sys/fs/cgroup; umount -l /sys/fs/cgroup
        for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/fcg-reached; umount -l $d; mkdir $d/fcg-reached; done
        exec 2>&1; ls -A /sys/fs/cgroup; grep -c /sys/fs/cgroup /proc/mounts /proc/self/mountinfo
    """
    assert sandboxed(script, layout=layout).stdout.split() == ["/proc/mounts:0", "/proc/self/mountinfo:0"]


@pytest.mark.hostile("the whole tree of mounts is bound elsewhere, and the tree unmounted there")
@LAYOUTS
def test_a_recursive_bind_shows_the_tree_alone(
    untouched: None, sandboxed: Sandboxed, tmp_path: Path, layout: str
) -> None:
    where = f"{tmp_path}/sys/fs/cgroup"
    script = f"""
        mount --rbind / {tmp_path}
        grep -c ' {where} ' /proc/mounts /proc/self/mountinfo
        umount -R {where} && umount {where} 2>/dev/null; ls -A {where}; grep -c ' {where}' /proc/mounts
    """
    assert sandboxed(script, layout=layout).stdout.split() == ["/proc/mounts:1", "/proc/self/mountinfo:1", "0"]


@pytest.mark.hostile("the way out through other processes' roots and namespaces", times=2)
def test_the_roots_and_namespaces_of_others_lead_nowhere(untouched: None, sandboxed: Sandboxed) -> None:
    assert said(sandboxed(shlex.join([sys.executable, "-c", GO_THROUGH_OTHERS]))) == "done\n"


@pytest.mark.hostile("the daemon behind the tree is traced and its files are read")
def test_nobody_reaches_into_the_daemon(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{shlex.quote(sys.executable)} -c {shlex.quote(REACH_INTO)}")) == "6 refused\n"


@pytest.mark.hostile("the type of a file system is another when the kernel reads it", times=60)
def test_a_type_that_changes_meanwhile_is_the_one_that_was_judged(sandboxed: Sandboxed, tmp_path: Path) -> None:
    program = shlex.join([sys.executable, "-c", CHANGE_ITS_MIND, str(tmp_path)])
    assert said(sandboxed(f"exec unshare -Cm {program}")) == "True 0\n"


def test_other_file_systems_are_mounted_as_ever(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = f"""
        cd {tmp_path}; mkdir one two a b; touch one/x two/y
        mount -t tmpfs -o mode=750,size=1M some a && stat -c %a a && grep -c '^some {tmp_path}/a tmpfs' /proc/mounts
        unshare -Urm sh -c 'mount -t overlay -o lowerdir=one:two none b; ls b; mount -t tmpfs x one; stat -c %u one'
        unshare -pf sh -c 'mount -t proc none b; echo $$; cat b/1/comm'
        mount -t tmpfs none {tmp_path}/none; mount -t nothing none a; mount -t tmpfs none one/x
        setpriv --bounding-set=-all --inh-caps=-all mount -t tmpfs none one; ls one
    """
    done = sandboxed(script)
    assert done.stdout.splitlines() == ["750", "1", "x", "y", "0", "1", "sh", "x"], done
    assert len([line for line in done.stderr.splitlines() if line.startswith("mount: ")]) == 4, done


def test_a_fuse_file_system_is_mounted_as_ever(sandboxed: Sandboxed, tmp_path: Path) -> None:
    inner = shlex.join(COMMAND)
    script = f"{inner} mount --layout v1 {tmp_path} >/dev/null && ls -d {tmp_path}/pids && {inner} umount {tmp_path}"
    assert said(sandboxed(script)) == f"{tmp_path}/pids\n"


@pytest.fixture
def started_at() -> Callable[[str, str], subprocess.CompletedProcess[str]]:
    """Starts a command from a directory, by a shell that was given some redirections."""

    def start(directory: str, script: str) -> subprocess.CompletedProcess[str]:
        words = shlex.join([*COMMAND, "run"])
        return subprocess.run(
            ["sh", "-c", script.replace("RUN", words)],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return start


@pytest.mark.hostile("a working directory on the machine's own cgroups")
def test_a_working_directory_there_is_refused(
    sandboxed: Sandboxed, started_at: Callable[[str, str], subprocess.CompletedProcess[str]]
) -> None:
    for directory in list(own())[:2]:
        done = started_at(directory, "RUN true")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
        assert f"the working directory {directory} " in done.stderr


@pytest.mark.hostile("a file or directory of the machine's own cgroups as an open descriptor", times=2)
def test_an_open_file_there_is_refused(
    sandboxed: Sandboxed, started_at: Callable[[str, str], subprocess.CompletedProcess[str]]
) -> None:
    for directory in list(own())[:1]:
        for name in ("", "/cgroup.procs"):
            done = started_at("/", f"RUN true 7<{directory}{name}")
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
            assert f"file descriptor 7, {directory}{name}, " in done.stderr


@pytest.mark.hostile("/ as an open descriptor, which is that of outside")
def test_an_open_directory_is_that_of_inside(
    untouched: None, sandboxed: Sandboxed, started_at: Callable[[str, str], subprocess.CompletedProcess[str]]
) -> None:
    inside = (
        "cd /proc/self/fd/7; ls -d etc; cd sys/fs/cgroup; stat -fc %T .; umount -l /sys/fs/cgroup; cd /proc/self/fd/7"
    )
    done = started_at("/", f"RUN sh -c '{inside}/sys/fs/cgroup; ls -A' 7</")
    assert (done.stdout, done.stderr) == ("etc\ncgroup2fs\n", "")


@pytest.mark.hostile("a file system of cgroups by its third name")
@LAYOUTS
def test_a_cpuset_file_system_is_the_trees(untouched: None, sandboxed: Sandboxed, tmp_path: Path, layout: str) -> None:
    mounted = f"mount -t cpuset none {tmp_path} && stat -c %d {tmp_path} /sys/fs/cgroup/cpuset | uniq | wc -l"
    done = sandboxed(f'unshare -Cm sh -c "{mounted}"', layout=layout)
    assert done.stdout == ("1\n" if layout == "v1" else ""), done


def test_a_directory_that_is_not_there_inside_is_refused(
    sandboxed: Sandboxed, started_at: Callable[[str, str], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = started_at("/", f"mkdir {tmp_path}/gone; exec 7<{tmp_path}/gone; rmdir {tmp_path}/gone; RUN true")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert f"file descriptor 7, '{tmp_path}/gone (deleted)', " in done.stderr


def test_a_machine_is_not_changed_by_a_run(sandboxed: Sandboxed) -> None:
    before = [(mount.point, mount.fstype) for mount in mounts() if mount.point.startswith("/sys/fs/cgroup")]
    assert run("run", "true").returncode == 0
    after = [(mount.point, mount.fstype) for mount in mounts() if mount.point.startswith("/sys/fs/cgroup")]
    assert before == after
