"""Names that the kernel module remembers never show: a tree with them answers as one without.

A traced tree remembers none, so it is what the other one is compared with. Each has the same callers: root, another
user, and that user as root of a user and cgroup namespace of its own. They live through a whole sequence, and hold
directories and files.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import random
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import pytest

from ..waiting import wait_until
from .conftest import OTHER_UID, Mount, needs_root, run

pytestmark = needs_root

_NEW_NAMESPACES = 0x10000000 | 0x02000000  # CLONE_NEWUSER, CLONE_NEWCGROUP
_MS_BIND = 0x1000
_libc = ctypes.CDLL(None, use_errno=True)
ROOT, OTHER, CONTAINER = "root", "other", "container"
CALLERS = (ROOT, OTHER, CONTAINER)


class Caller:
    """A process that makes system calls on one tree and tells what came of them. It holds what it opens."""

    def __init__(self, who: str) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if not self._pid:
            ours.close()
            with contextlib.suppress(BaseException):
                become(who)
                answer(theirs)
            os._exit(0)
        theirs.close()
        self._socket = ours

    def do(self, *call: Any) -> Any:
        self._socket.send(repr(call).encode())
        said = self._socket.recv(1 << 20)
        assert said, call
        return eval(said)

    def end(self) -> None:
        self._socket.close()
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def become(who: str) -> None:
    if who != ROOT:
        os.setgroups([])
        os.setresgid(OTHER_UID, OTHER_UID, OTHER_UID)
        os.setresuid(OTHER_UID, OTHER_UID, OTHER_UID)
    if who == CONTAINER and _libc.unshare(_NEW_NAMESPACES):
        _libc.unshare(_NEW_NAMESPACES & 0x10000000)


def answer(connection: socket.socket) -> None:
    held: dict[str, int] = {}
    while said := connection.recv(1 << 16):
        name, *arguments = eval(said)
        try:
            result = CALLS[name](held, *arguments)
        except OSError as error:
            result = error.errno
        connection.send(repr(result).encode())


def shown(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_ino, found.st_mode, found.st_nlink, found.st_uid, found.st_gid, found.st_size)


def hold(held: dict[str, int], name: str, path: str, flags: int) -> None:
    fd = os.open(path, flags)
    if name in held:
        os.close(held.pop(name))
    held[name] = fd


def read(path: str, **options: Any) -> bytes:
    fd = os.open(path, os.O_RDONLY, **options)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)


def write(path: str, text: str, flags: int) -> int:
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        return os.write(fd, text.encode())
    finally:
        os.close(fd)


def listed(directory: str | int) -> list[str]:
    return sorted(os.listdir(directory))


def send(path: str) -> bytes:
    """What sendfile(2) copies of a file."""
    source, ours, theirs = os.open(path, os.O_RDONLY), *socket.socketpair()
    with ours, theirs:
        try:
            os.sendfile(theirs.fileno(), source, None, 1 << 16)
        finally:
            os.close(source)
        theirs.shutdown(socket.SHUT_WR)
        return ours.recv(1 << 16)


CALLS: dict[str, Callable[..., Any]] = {
    "mkdir": lambda held, path: os.mkdir(path),
    "rmdir": lambda held, path: os.rmdir(path),
    "rename": lambda held, path, new: os.rename(path, new),
    "stat": lambda held, path: shown(os.stat(path)),
    "access": lambda held, path, mode: os.access(path, mode),
    "read": lambda held, path: read(path),
    "write": lambda held, path, text, flags: write(path, text, flags),
    "send": lambda held, path: send(path),
    "listdir": lambda held, path: listed(path),
    "chmod": lambda held, path, mode: os.chmod(path, mode),
    "chown": lambda held, path, uid: os.chown(path, uid, uid),
    "hold": hold,
    "held stat": lambda held, name: shown(os.fstat(held[name])),
    "held read": lambda held, name: os.pread(held[name], 1 << 16, 0),
    "held listdir": lambda held, name: listed(held[name]),
    "held chmod": lambda held, name, mode: os.fchmod(held[name], mode),
    "stat below": lambda held, name, path: shown(os.stat(path, dir_fd=held[name])),
    "read below": lambda held, name, path: read(path, dir_fd=held[name]),
    "listdir below": lambda held, name, path: listed(os.open(path, os.O_RDONLY, dir_fd=held[name])),
}


class Trees(NamedTuple):
    """Two trees in the same state: one that remembers names, and one that does not."""

    trees: tuple[Path, Path]
    callers: dict[tuple[int, str], Caller]

    def do(self, who: str, name: str, *arguments: Any) -> Any:
        """What a call gives. {} in an argument is the tree."""
        said = [
            self.callers[number, who].do(
                name, *(one.replace("{}", str(tree)) if isinstance(one, str) else one for one in arguments)
            )
            for number, tree in enumerate(self.trees)
        ]
        assert said[0] == said[1], (who, name, arguments)
        return said[0]


def started(remembering: Path, asking: Path) -> Trees:
    return Trees((remembering, asking), {(number, who): Caller(who) for number in range(2) for who in CALLERS})


@pytest.fixture
def trees(mount: Mount, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Trees]:
    layout = getattr(request, "param", "v2")
    made = started(mount(layout=layout), mount(layout=layout, trace=str(tmp_path / "trace")))
    yield made
    for caller in made.callers.values():
        caller.end()


def test_a_file_is_not_there_once_its_controller_is_disabled(trees: Trees) -> None:
    trees.do(ROOT, "mkdir", "{}/a")
    for switch in ("+pids", "-pids", "+pids", "-pids"):
        trees.do(ROOT, "write", "{}/cgroup.subtree_control", switch, 0)
        assert trees.do(OTHER, "read", "{}/a/pids.max") == (b"max\n" if switch == "+pids" else 2)
        assert ("pids.max" in trees.do(OTHER, "listdir", "{}/a")) == (switch == "+pids")


def test_a_hidden_file_is_not_there(trees: Trees) -> None:
    trees.do(ROOT, "mkdir", "{}/a")
    trees.do(ROOT, "hold", "directory", "{}/a", os.O_PATH)
    assert stat.S_ISREG(trees.do(ROOT, "stat", "{}/a/cpu.pressure")[1])
    trees.do(ROOT, "write", "{}/a/cgroup.pressure", "0", 0)
    assert trees.do(ROOT, "stat", "{}/a/cpu.pressure") == trees.do(ROOT, "stat below", "directory", "cpu.pressure") == 2


def test_a_held_file_of_a_removed_cgroup_has_no_name(trees: Trees) -> None:
    trees.do(ROOT, "mkdir", "{}/a")
    trees.do(ROOT, "hold", "directory", "{}/a", os.O_PATH)
    trees.do(ROOT, "hold", "file", "{}/a/cgroup.procs", os.O_RDONLY)
    trees.do(ROOT, "stat below", "directory", "cgroup.procs")
    trees.do(ROOT, "rmdir", "{}/a")
    assert trees.do(ROOT, "stat below", "directory", "cgroup.procs") == 2
    assert trees.do(ROOT, "read below", "directory", "cgroup.procs") == 2
    assert trees.do(ROOT, "held read", "file") == 19
    trees.do(ROOT, "held stat", "file")
    trees.do(ROOT, "held stat", "directory")


def test_the_links_and_the_list_of_a_directory_follow_its_children(trees: Trees) -> None:
    trees.do(ROOT, "mkdir", "{}/a")
    trees.do(OTHER, "hold", "directory", "{}/a", os.O_RDONLY)
    for name, *arguments in (
        ("mkdir", "{}/a/b"),
        ("mkdir", "{}/a/c"),
        ("rmdir", "{}/a/b"),
        ("chown", "{}/a", OTHER_UID),
        ("chmod", "{}/a", 0o711),
        ("rmdir", "{}/a/c"),
        ("rmdir", "{}/a"),
    ):
        trees.do(ROOT, name, *arguments)
        for who in CALLERS:
            trees.do(who, "stat", "{}/a")
            trees.do(who, "listdir", "{}/a")
        trees.do(OTHER, "held stat", "directory")
        trees.do(OTHER, "held listdir", "directory")


def test_a_cgroup_that_a_scenario_makes_counts_as_a_link(native_v2: Path, tmp_path: Path) -> None:
    before = os.stat(native_v2).st_nlink, set(os.listdir(native_v2))
    (tmp_path / "scenario.yaml").write_text("cgroups: {made-by-a-scenario: {}}\nworkloads: []\n")
    added = run("ctl", native_v2, "workload", "add", tmp_path / "scenario.yaml")
    assert added.returncode == 0, added.stderr
    assert os.stat(native_v2).st_nlink == before[0] + 1
    assert set(os.listdir(native_v2)) - before[1] == {"made-by-a-scenario"}
    os.rmdir(native_v2 / "made-by-a-scenario")
    assert os.stat(native_v2).st_nlink == before[0]


@pytest.mark.parametrize("who", [OTHER, CONTAINER])
@pytest.mark.parametrize("handle", [os.O_RDONLY, os.O_PATH])
def test_a_closed_directory_is_closed_at_once(trees: Trees, who: str, handle: int) -> None:
    for directory in ("{}/a", "{}/a/b", "{}/a/b/c"):
        trees.do(ROOT, "mkdir", directory)
    trees.do(ROOT, "hold", "handle", "{}/a", handle)
    trees.do(who, "hold", "directory", "{}/a", os.O_PATH)
    for mode in (0o700, 0o755, 0o711, 0o750, 0o755):
        trees.do(ROOT, "chmod", "{}/a", mode)
        for path in ("b", "b/cgroup.procs", "b/c/cgroup.procs", "b"):
            assert isinstance(trees.do(who, "stat below", "directory", path), int) == (not mode & 1)
            trees.do(who, "stat", f"{{}}/a/{path}")
        trees.do(who, "read below", "directory", "b/cgroup.procs")
        trees.do(who, "listdir", "{}/a/b")


@pytest.mark.parametrize("who", [OTHER, CONTAINER])
def test_nothing_is_opened_in_a_directory_that_was_closed_by_its_descriptor(trees: Trees, who: str) -> None:
    trees.do(ROOT, "mkdir", "{}/a")
    trees.do(ROOT, "mkdir", "{}/a/b")
    trees.do(ROOT, "hold", "handle", "{}/a", os.O_RDONLY)
    trees.do(who, "hold", "directory", "{}/a", os.O_PATH)
    for mode in (0o755, 0o700) * 20:
        trees.do(ROOT, "held chmod", "handle", mode)
        for _ in range(2):
            assert trees.do(who, "read below", "directory", "b/cgroup.freeze") == (b"0\n" if mode & 1 else 13)
        trees.do(who, "read", "{}/a/b/cgroup.freeze")
        trees.do(who, "stat", "{}/a/b/cgroup.freeze")


def test_a_bind_mount_below_a_directory_stays_when_that_is_closed(trees: Trees, mount: Mount) -> None:
    place = trees.trees[0] / "a" / "b"
    place.mkdir(parents=True)
    (trees.trees[0] / "c").mkdir()
    assert not _libc.mount(os.fsencode(trees.trees[0] / "c"), os.fsencode(place), b"none", _MS_BIND, None)
    try:
        (trees.trees[0] / "a").chmod(0o700)
        (place / "d").mkdir()
        assert (trees.trees[0] / "c" / "d").is_dir()
    finally:
        assert not _libc.umount2(os.fsencode(place), 0)


def test_two_who_look_for_a_name_while_it_comes_and_goes_find_a_whole_cgroup_or_none(native_v2: Path) -> None:
    place = native_v2 / "coming-and-going"
    over = threading.Event()
    wrong: list[str] = []

    def look() -> None:
        while not over.is_set():
            try:
                if (place / "cgroup.procs").read_text() or (place / "cgroup.type").stat().st_size:
                    wrong.append("content")
            except OSError as error:
                if error.errno not in (2, 19):
                    wrong.append(str(error))

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    for _ in range(200):
        place.mkdir()
        place.rmdir()
    over.set()
    for looker in lookers:
        looker.join()
    assert not wrong


_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
_UFFDIO_API, _UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
_PAGE = 4096


def list_into_memory_that_is_not_there(directory: Path) -> int:
    """A process that waits in getdents(2), as nobody gives it the page that it lists into (userfaultfd(2))."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(ours)
        page = mmap.mmap(-1, _PAGE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        faults = _libc.syscall(_USERFAULTFD[os.uname().machine], 0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(faults, _UFFDIO_API, bytearray(Struct("QQQ").pack(0xAA, 0, 0)))
            fcntl.ioctl(faults, _UFFDIO_REGISTER, bytearray(Struct("QQQQ").pack(address, _PAGE, 1, 0)))
            fd = os.open(directory, os.O_RDONLY)
            os.write(theirs, b"!")
            _libc.getdents64(fd, ctypes.c_void_p(address), _PAGE)
        os._exit(1)
    os.close(theirs)
    with open(ours, "rb") as said:
        if not said.read(1):
            os.waitpid(pid, 0)
            pytest.skip("userfaultfd(2) is refused")
    wait_until(lambda: "userfault" in Path(f"/proc/{pid}/wchan").read_text())
    return pid


def test_a_stranger_who_stays_in_getdents_keeps_nobody_from_removing_files(mount: Mount) -> None:
    tree = mount()
    switch, place = tree / "cgroup.subtree_control", tree / "a"
    switch.write_text("+pids")
    place.mkdir()
    files = [place / name for name in os.listdir(place) if name.startswith("pids.")]
    for file in files:
        file.stat()
    stranger = list_into_memory_that_is_not_there(place)
    try:
        writer = subprocess.Popen(["sh", "-c", "echo -pids >cgroup.subtree_control"], cwd=tree)
        assert wait_until(lambda: writer.poll() is not None)
        assert not switch.read_text().split()
    finally:
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)
        writer.wait()
    wait_until(lambda: not any(file.exists() for file in files))


DIRECTORIES = ("a", "a/b", "a/b/c", "d", "d/e")
MODES = (0o755, 0o755, 0o700, 0o711, 0o750, 0o644, 0o1777, 0o555)
FILES = ("cgroup.controllers", "cgroup.type", "pids.max", "memory.max", "cgroup.events", "cpu.pressure", "cpuset.cpus")
V1_FILES = ("cgroup.clone_children", "notify_on_release", "pids.max", "pids.current")


def calls(chance: random.Random, top: str, files: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Calls of somebody: looks, and changes that names or rights depend on."""
    while True:
        directory, file = f"{{}}{top}/{chance.choice(DIRECTORIES)}", chance.choice(files)
        who, held = chance.choice((ROOT, ROOT, OTHER, OTHER, CONTAINER)), chance.choice("xyz")
        below = chance.choice((file, "b", f"b/{file}", f"b/c/{file}", f"e/{file}", f"../{file}"))
        switch = chance.choice("+-") + chance.choice(("pids", "memory", "cpuset"))
        changes: list[tuple[Any, ...]] = [
            ("mkdir", directory),
            ("mkdir", directory),
            ("rmdir", directory),
            ("chmod", directory, chance.choice(MODES)),
            ("chown", directory, chance.choice((0, OTHER_UID))),
            ("chown", f"{directory}/{file}", chance.choice((0, OTHER_UID))),
            ("write", f"{directory}/cgroup.subtree_control", switch, chance.choice((0, os.O_TRUNC))),
            ("write", f"{{}}{top}/cgroup.subtree_control", switch, 0),
            ("write", f"{directory}/cgroup.type", "threaded", os.O_TRUNC),
            ("write", f"{directory}/cgroup.pressure", chance.choice("01"), os.O_TRUNC),
            ("write", f"{directory}/pids.max", str(chance.randrange(99)), chance.choice((0, os.O_TRUNC, os.O_APPEND))),
            ("rename", directory, f"{{}}{top}/{chance.choice(DIRECTORIES)}"),
            ("hold", held, chance.choice((directory, f"{directory}/{file}")), chance.choice((os.O_RDONLY, os.O_PATH))),
        ]
        looks: list[tuple[Any, ...]] = [
            ("stat", directory),
            ("stat", f"{directory}/{file}"),
            ("access", f"{directory}/{file}", chance.choice((os.R_OK, os.W_OK, os.F_OK))),
            ("read", f"{directory}/{file}"),
            ("send", f"{directory}/{file}"),
            ("listdir", directory),
            ("held stat", held),
            ("held read", held),
            ("held listdir", held),
            ("stat below", held, below),
            ("read below", held, below),
            ("listdir below", held, chance.choice(("b", "b/c", ".", "..", "e"))),
        ]
        yield (who, *chance.choice(changes if chance.random() < 0.4 else looks))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("trees", "top", "files"),
    [("v2", "/top", FILES), ("hybrid", "/pids", V1_FILES)],
    indirect=["trees"],
    ids=["v2", "v1"],
)
def test_random_calls_answer_as_in_a_tree_that_remembers_nothing(
    trees: Trees, top: str, files: tuple[str, ...], seed: int
) -> None:
    trees.do(ROOT, "mkdir", "{}/top")
    for name in "xyz":
        for who in CALLERS:
            trees.do(who, "hold", name, f"{{}}{top}", os.O_RDONLY)
    sequence = calls(random.Random(seed), top, files)
    for _ in range(600):
        trees.do(*next(sequence))
