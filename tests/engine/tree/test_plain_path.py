"""No symbolic link below a root is followed, whatever the kernel has to open paths with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from errno import EEXIST, EINVAL, ELOOP, ENOENT, ENOSYS, ENOTDIR, EPERM, EXDEV
from pathlib import Path

import pytest

from cgroup_engine.tree import plain_path
from cgroup_engine.tree.fs import OsFs, many_calls

# a program that is refused openat2(2) by a seccomp filter, as in a container of Docker before 20.10, reads a file
REFUSED = """
import ctypes, struct, sys
filters = b"".join(struct.pack("=HBBI", *each) for each in (
    (0x20, 0, 0, 0),            # load the number of the call
    (0x15, 0, 1, 437),          # openat2?
    (0x06, 0, 0, 0x00050001),   # SECCOMP_RET_ERRNO, EPERM
    (0x06, 0, 0, 0x7fff0000)))  # SECCOMP_RET_ALLOW
buffer = ctypes.create_string_buffer(filters)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0      # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, program) == 0      # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
from cgroup_engine.tree.fs import OsFs
fs = OsFs(sys.argv[1])
print(fs.read("cpu/pod/cpu.shares"), fs.subdirectories(""), fs.is_dir("link"))
"""


# a program that may have few descriptors makes cgroups in many others
FEW = """
import resource, sys
from cgroup_engine.tree.fs import OsFs, many_calls
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
fs = OsFs(sys.argv[1])
with many_calls(fs):
    for number in range(100):
        fs.mkdir(f"memory/{number}")
        fs.mkdir(f"memory/{number}/below")
        fs.write_and_read("memory/pod/file", "")
"""


@pytest.fixture(params=["openat2", "ENOSYS", "EPERM"])
def fs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OsFs:
    """A v1 layout, and beside it what must not be reached; without openat2 it is walked name by name."""
    for path in ("root/cpu,cpuacct/pod", "root/memory/pod", "outside/pod"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "root/cpu").symlink_to("cpu,cpuacct")
    (tmp_path / "root/cpu,cpuacct/pod/cpu.shares").write_text("2")
    (tmp_path / "outside/pod/cpu.shares").write_text("kept")
    if request.param != "openat2":
        number = {"ENOSYS": ENOSYS, "EPERM": EPERM}[request.param]
        monkeypatch.setattr(plain_path, "_system_call", lambda: (lambda *_: -1, lambda: number))
    return OsFs(str(tmp_path / "root"))


def _errno(call: Callable[..., object], *arguments: object) -> int | None:
    with pytest.raises(OSError) as refused:
        call(*arguments)
    return refused.value.errno


def test_paths_without_links_are_opened(fs: OsFs) -> None:
    fs.mkdir("memory/pod/new")
    assert (fs.is_dir("memory/pod/new"), fs.subdirectories("memory/pod")) == (True, ["new"])
    assert fs.listdir("cpu,cpuacct/pod") == ["cpu.shares"]
    assert (fs.read("cpu,cpuacct/pod/cpu.shares"), fs.is_dir("")) == ("2", True)
    fs.rmdir("memory/pod/new")
    assert not fs.is_dir("memory/pod/new")


def test_the_errno_is_that_of_open(fs: OsFs) -> None:
    assert _errno(fs.read, "memory/none/x") == ENOENT
    assert _errno(fs.listdir, "cpu,cpuacct/pod/cpu.shares") == ENOTDIR
    assert _errno(fs.read, "cpu,cpuacct/pod/cpu.shares/x") == ENOTDIR
    assert _errno(fs.mkdir, "memory/pod") == EEXIST
    assert _errno(fs.rmdir, "memory/none") == ENOENT
    assert _errno(fs.mkdir, "memory/none/new") == ENOENT


def test_a_link_to_a_sibling_of_the_root_is_a_hierarchy(fs: OsFs) -> None:
    assert sorted(fs.subdirectories("")) == ["cpu", "cpu,cpuacct", "memory"]
    for _ in range(2):
        assert (fs.read("cpu/pod/cpu.shares"), fs.is_dir("cpu"), fs.is_dir("cpu/pod")) == ("2", True, True)
    fs.write("cpu/pod/cpu.shares", "3")
    assert fs.read("cpu,cpuacct/pod/cpu.shares") == "3"


@pytest.mark.parametrize("target", ["{root}/cpu,cpuacct", "./cpu,cpuacct", "../root/cpu,cpuacct"])
def test_a_link_to_a_sibling_can_be_written_otherwise(fs: OsFs, target: str) -> None:
    os.symlink(target.format(root=fs.root), f"{fs.root}/cpuacct")
    assert fs.read("cpuacct/pod/cpu.shares") == "2"
    assert "cpuacct" in fs.subdirectories("")


@pytest.mark.parametrize("target", ["../outside", "{root}/../outside", "memory/pod", ".", "..", "/", "pids", "none"])
@pytest.mark.hostile("a link in the place of a hierarchy that leads elsewhere, or to itself", times=24)
def test_a_link_of_the_root_that_leads_elsewhere_is_none(fs: OsFs, target: str) -> None:
    os.symlink(target.format(root=fs.root), f"{fs.root}/pids")
    assert "pids" not in fs.subdirectories("")
    assert not fs.is_dir("pids")
    assert _errno(fs.read, "pids/pod/cpu.shares") in (ELOOP, ENOENT)
    assert _errno(fs.mkdir, "pids/pod/new") in (ELOOP, ENOENT)


@pytest.mark.hostile("a symbolic link in the place of a cgroup or its file, for each call", times=24)
@pytest.mark.parametrize(
    ("call", "path", "more"),
    [
        ("read", "memory/link/cpu.shares", ()),
        ("write", "memory/link/cpu.shares", ("lost",)),
        ("write_and_read", "memory/link/cpu.shares", ("lost",)),
        ("listdir", "memory/link", ()),
        ("subdirectories", "memory/link", ()),
        ("mkdir", "memory/link/new", ()),
        ("rmdir", "memory/link/empty", ()),
        ("stat", "memory/link", ()),
    ],
)
def test_no_call_goes_through_a_link(fs: OsFs, call: str, path: str, more: tuple[str, ...]) -> None:
    outside = Path(fs.root).parent / "outside" / "pod"
    (outside / "empty").mkdir()
    os.symlink(outside, f"{fs.root}/memory/link")
    with pytest.raises(OSError) as refused:
        getattr(fs, call)(path, *more)
    assert (refused.value.errno, refused.value.filename) == (ELOOP, "memory/link")
    assert ((outside / "cpu.shares").read_text(), sorted(os.listdir(outside))) == ("kept", ["cpu.shares", "empty"])


@pytest.mark.hostile("a link behind the link of a hierarchy", times=3)
def test_a_link_below_the_link_of_a_hierarchy_is_not_followed(fs: OsFs) -> None:
    os.symlink("../../outside/pod", f"{fs.root}/cpu,cpuacct/link")
    for _ in range(2):
        assert _errno(fs.read, "cpu/link/cpu.shares") == ELOOP


@pytest.mark.hostile("a path with .. or a NUL", times=12)
@pytest.mark.parametrize(
    ("path", "number"),
    [("../outside/pod", EXDEV), ("memory/../../outside/pod", EXDEV), ("..", EXDEV), ("memory\0/pod", EINVAL)],
)
def test_a_path_that_leads_upwards_is_refused(fs: OsFs, path: str, number: int) -> None:
    assert _errno(fs.listdir, path) == number
    assert not fs.is_dir(path)


def test_names_with_dots_are_names(fs: OsFs) -> None:
    fs.mkdir("memory/a..b")
    assert fs.is_dir("memory/a..b")


def test_a_root_may_be_a_link(fs: OsFs) -> None:
    os.symlink(fs.root, f"{fs.root}.link")
    assert OsFs(f"{fs.root}.link").read("cpu/pod/cpu.shares") == "2"


@pytest.mark.hostile("a directory that becomes a link between two mkdir in it", times=3)
def test_a_directory_that_is_kept_open_is_not_replaced_by_a_link(fs: OsFs) -> None:
    outside = Path(fs.root).parent / "outside"
    with many_calls(fs):
        fs.mkdir("memory/pod/a")
        os.rename(f"{fs.root}/memory/pod", f"{fs.root}/memory/old")
        os.symlink(outside, f"{fs.root}/memory/pod")
        fs.mkdir("memory/pod/b")
    assert sorted(os.listdir(outside)) == ["pod"]


def test_a_directory_that_was_removed_and_made_again_is_found_again(fs: OsFs) -> None:
    with many_calls(fs):
        fs.mkdir("memory/pod/a")
        fs.rmdir("memory/pod/a")
        os.rmdir(f"{fs.root}/memory/pod")
        assert _errno(fs.mkdir, "memory/pod/b") == ENOENT
        os.mkdir(f"{fs.root}/memory/pod")
        fs.mkdir("memory/pod/b")
    assert fs.is_dir("memory/pod/b")


def test_no_descriptor_stays_open(fs: OsFs) -> None:
    before = os.listdir("/proc/self/fd")
    os.symlink("../outside", f"{fs.root}/memory/link")
    with many_calls(fs):
        for number in range(400):
            fs.mkdir(f"memory/{number}")
            fs.mkdir(f"memory/{number}/below")
        assert len(os.listdir("/proc/self/fd")) < len(before) + 300
    for call in (fs.read, fs.listdir, fs.mkdir, fs.rmdir):
        for path in ("memory/link/x/y", "memory/none/x", "cpu/pod/cpu.shares/x"):
            with pytest.raises(OSError):
                call(path)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.hostile("many changes with few descriptors", times=3)
def test_few_descriptors_are_enough(fs: OsFs) -> None:
    Path(fs.root, "memory/pod/file").touch()
    done = subprocess.run([sys.executable, "-c", FEW, fs.root], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert fs.is_dir("memory/99/below")


def test_a_filter_that_refuses_openat2_does_not_matter(fs: OsFs) -> None:
    os.symlink("../outside", f"{fs.root}/link")
    done = subprocess.run([sys.executable, "-c", REFUSED, fs.root], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", "2 ['cpu,cpuacct', 'memory', 'cpu'] False\n")
