"""Mounted trees for the tests, and programs run in them.

A tree is mounted by the command itself, as a user would. Trees that many tests share are made once per test process;
each test has a cgroup of its own in it. Whatever was mounted is unmounted at the end, and a daemon that logged an
unexpected exception fails the test that it served last.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from errno import EBUSY
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fakecgroup.conformance.case import Answer, Op
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse import fusepy
from fakecgroup_mount.fuse.about import DAEMON_XATTR
from fakecgroup_mount.fuse.fuse_mount import umount_fuse
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.mountinfo import mounts
from fakecgroup_mount.host.processes import HostProcesses

from ..waiting import wait_until

COMMAND = [sys.executable, "-c", "import sys; from fakecgroup_mount.cli import main; sys.exit(main())"]
REPOSITORY = Path(__file__).parents[2]
OTHER_UID = 54321  # someone who is neither root nor in /etc/passwd

Mount = Callable[..., Path]


# What libfuse 2 and fusepy cannot do (mount/fakecgroup_mount/fuse/fusepy.py), by the test that shows it.
FUSEPY_GAPS = {
    "test_a_long_list_is_read_to_its_end[fusepy-busybox cat]": "libfuse 2 tells lookup and stat the same size",
    "test_busybox_cat_shows_the_value_though_the_size_is_0": "libfuse 2 tells lookup and stat the same size",
    "test_a_file_of_a_removed_cgroup_can_be_asked_for_its_attributes": "libfuse 2 has no path for it: ENOENT",
    "test_an_open_directory_that_was_removed_is_empty": "libfuse 2 has no path for it: ENOENT",
    "test_a_poll_is_woken_when_the_last_process_leaves": "fusepy has no poll",
    "test_a_poll_is_woken_when_a_process_with_threads_leaves": "fusepy has no poll",
    "test_a_poll_of_an_unread_file_is_an_event": "fusepy has no poll",
    "test_epoll_tells_each_change_once": "fusepy has no poll",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(item, "callspec", None)
        reason = FUSEPY_GAPS.get(item.name) or FUSEPY_GAPS.get(getattr(item, "originalname", ""))
        if reason and parameters is not None and parameters.params.get("transport") == "fusepy":
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


needs_fuse = pytest.mark.usefixtures("fuse")
needs_root = pytest.mark.usefixtures("root")
needs_fusermount = pytest.mark.skipif(shutil.which("fusermount3") is None, reason="no fusermount3")


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command `fakecgroup`; its exit status, stdout and stderr."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        **{
            "cwd": REPOSITORY,
            "capture_output": True,
            "text": True,
            "timeout": 30,
            "check": False,
            "stdin": subprocess.DEVNULL,
            **options,
        },
    )


@pytest.fixture(scope="session")
def warm_server() -> Iterator[str]:
    """The value of FAKECGROUP_WARM for a server of `fakecgroup warm` that serves what this test process starts."""
    with subprocess.Popen(
        [*COMMAND, "warm", "--", "sh", "-c", "echo $FAKECGROUP_WARM; cat"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def shell(script: str, cwd: Path, uid: int | None = None, groups: tuple[int, ...] = ()) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a sh script in the C locale; as another user if `uid` is given."""
    who: dict[str, Any] = {} if uid is None else {"user": uid, "group": uid, "extra_groups": groups}
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
        **who,
    )
    return done.returncode, done.stdout, done.stderr


def daemon_of(tree: Path) -> int:
    """The pid of the daemon behind a mount."""
    return int(os.getxattr(tree, DAEMON_XATTR))


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(scope="session")
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the daemons of this test process log; set in the environment of the commands."""
    home = tmp_path_factory.mktemp("state")
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(home)
    yield home
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


@pytest.fixture(autouse=True)
def no_daemon_failed(state_home: Path) -> Iterator[None]:
    """A traceback in the daemons' log is a failure."""
    yield
    written = state_home / "fakecgroup" / "daemon.log"
    if written.exists():
        text = written.read_text()
        written.unlink()
        pytest.fail(f"a daemon logged:\n{text}")


@pytest.fixture(scope="session")
def public_directory() -> Iterator[Callable[[], Path]]:
    """Makes directories that every user can reach; pytest's own are closed to others each time a run of it starts."""
    made: list[Path] = []

    def make() -> Path:
        made.append(Path(tempfile.mkdtemp(prefix="fakecgroup-test-")))
        made[-1].chmod(0o755)
        return made[-1]

    yield make
    for directory in made:
        take_down(directory)
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def mount_in_session(fuse: None, public_directory: Callable[[], Path], state_home: Path) -> Iterator[Mount]:
    """Mounts a tree with options such as layout="v1" in a new directory; it is unmounted at the end."""

    def mount(**options: str) -> Path:
        directory = public_directory()
        done = run("mount", directory, *(f"--{name}={value}" for name, value in options.items()))
        assert done.returncode == 0, done.stderr
        return directory

    yield mount


@pytest.fixture
def processes() -> Iterator[HostProcesses]:
    """This machine's processes, as a daemon sees them."""
    processes = HostProcesses(IdMap(os.geteuid(), os.getegid()))
    yield processes
    processes.release()


@pytest.fixture
def mount(mount_in_session: Mount) -> Iterator[Mount]:
    """As `mount_in_session`, unmounted after the test."""
    made: list[Path] = []

    def mounted(**options: str) -> Path:
        made.append(mount_in_session(**options))
        return made[-1]

    yield mounted
    for directory in made:
        take_down(directory)


def take_down(directory: Path) -> None:
    """Unmounts all trees at or below `directory`, even trees in use."""
    for mounted in list(mounts()):
        if mounted.ours and Path(mounted.point).is_relative_to(directory):
            umount_fuse(mounted.point, lazy=True)


@pytest.fixture(scope="session", params=["native", "fusepy"])
def transport(request: pytest.FixtureRequest) -> str:
    """Each transport. A test with fusepy is skipped without libfuse 2."""
    if request.param == "fusepy":
        try:
            fusepy.load()
        except MountError as error:
            pytest.skip(str(error))
    return str(request.param)


@pytest.fixture(scope="session")
def v2(transport: str, mount_in_session: Mount) -> Path:
    """The root of a unified hierarchy, shared; every controller is enabled for its children."""
    tree = mount_in_session(transport=transport)
    enabled = " ".join(f"+{name}" for name in (tree / "cgroup.controllers").read_text().split())
    (tree / "cgroup.subtree_control").write_text(enabled)
    return tree


@pytest.fixture(scope="session")
def v1(transport: str, mount_in_session: Mount) -> Path:
    """The root of a v1 layout, shared."""
    return mount_in_session(transport=transport, layout="v1")


@pytest.fixture(scope="session")
def native_v2(mount_in_session: Mount) -> Path:
    """The root of a unified hierarchy over the native transport, shared."""
    return mount_in_session()


@pytest.fixture
def native_group(native_v2: Path) -> Iterator[Path]:
    """A cgroup of it for one test, which may remove it."""
    directory = native_v2 / f"test-{uuid.uuid4().hex[:12]}"
    directory.mkdir()
    yield directory
    if directory.exists():
        remove_with_all_below(directory)


@pytest.fixture
def group(v2: Path) -> Iterator[Path]:
    """A cgroup of the unified hierarchy for one test."""
    yield from _own(v2)


@pytest.fixture
def cpu_group(v1: Path) -> Iterator[Path]:
    """A cgroup of the v1 cpu,cpuacct hierarchy for one test."""
    yield from _own(v1 / "cpu,cpuacct")


def _own(parent: Path) -> Iterator[Path]:
    directory = parent / f"test-{uuid.uuid4().hex[:12]}"
    directory.mkdir()
    yield directory
    remove_with_all_below(directory)


def remove_with_all_below(cgroup: Path) -> None:
    """Removes a cgroup once those that were in it have ended."""

    def is_removed(place: str) -> bool:
        try:
            os.rmdir(place)
        except OSError as error:
            if error.errno != EBUSY:
                raise
            return False
        return True

    for place, _, _ in os.walk(cgroup, topdown=False):
        wait_until(partial(is_removed, place))


@pytest.fixture
def sleeper() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes that only sleep; they are ended and waited for after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "300"], **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def pids(mount: Mount, transport: str) -> Path:
    """The pids hierarchy of a tree for one test; its new cgroups tell of their release."""
    tree = mount(transport=transport, layout="v1")
    (tree / "pids" / "notify_on_release").write_text("1")
    return tree / "pids"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """An empty directory; whatever is mounted there is unmounted after the test."""
    place = tmp_path / "tree"
    place.mkdir()
    yield place
    take_down(place)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose cgroup.freeze shows junk."""
    right = ModelTarget.do

    def do(self: ModelTarget, op: Op) -> Answer:
        answer = right(self, op)
        return (None, "junk\n") if op == ("read", "a/cgroup.freeze") else answer

    monkeypatch.setattr(ModelTarget, "do", do)
