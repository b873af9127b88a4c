"""Where the cases go in this machine's unified hierarchy: the own cgroup of who asks, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakecgroup_mount.conformance.own_cgroup import PREFIX, OwnCgroup, remove_left_over
from fakecgroup_mount.host.cgroup_mounts import unified
from tests.waiting import wait_until

MOUNT = unified()

pytestmark = pytest.mark.skipif(
    MOUNT is None or os.geteuid() != 0 or not os.access(MOUNT.point, os.W_OK),
    reason="takes root and the unified hierarchy",
)

#: Goes into a cgroup, becomes a user, takes a place, and tells of it; then what is left after it was closed.
ASK = """\
import json, os, signal, sys
from pathlib import Path
from fakecgroup_mount.host.cgroup_mounts import unified
from fakecgroup_mount.conformance.host_place import HostPlace
from fakecgroup_mount.errors import MountError

cgroup, uid, end = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
(cgroup / "cgroup.procs").write_text(str(os.getpid()))
os.setgid(uid)
os.setuid(uid)
mount = unified()
try:
    place = HostPlace(mount)
except MountError as error:
    print(json.dumps({"error": str(error)}))
    sys.exit()
found = {"place": str(place.path), "controllers": place.controllers, "during": str(mount.own_cgroup())}
if end == "killed":
    print(json.dumps(found), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
found["closed"] = place.close()
found["after"] = str(mount.own_cgroup())
print(json.dumps(found))
"""


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A cgroup of the test's own."""
    assert MOUNT is not None
    own = MOUNT.point / f"fcg-place-{os.getpid()}"
    own.mkdir()
    yield own
    wait_until(lambda: _gone(own))


def _gone(cgroup: Path) -> bool:
    remove_left_over(cgroup)
    try:
        cgroup.rmdir()
    except OSError:
        return not cgroup.exists()
    return True


def asked(cgroup: Path, uid: int = 0, end: str = "closed") -> dict[str, Any]:
    command = [sys.executable, "-c", ASK, str(cgroup), str(uid), end]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def give(cgroup: Path, uid: int) -> None:
    """As systemd delegates a cgroup."""
    for path in (cgroup, *(cgroup / f"cgroup.{name}" for name in ("procs", "subtree_control", "threads"))):
        os.chown(path, uid, uid)


def traces(cgroup: Path) -> tuple[list[Path], list[str]]:
    return list(cgroup.glob(f"{PREFIX}*")), (cgroup / "cgroup.subtree_control").read_text().split()


@pytest.mark.parametrize("uid", [0, 12345])
def test_the_own_cgroup_is_taken_if_nothing_else_is_in_it(cgroup: Path, uid: int) -> None:
    give(cgroup, uid)
    found = asked(cgroup, uid)
    assert Path(found["place"]).parent == cgroup
    assert found["during"] == f"{found['place']}/command"
    assert (found["closed"], found["after"]) == (True, str(cgroup))
    assert found["controllers"] == (cgroup / "cgroup.controllers").read_text().split()
    assert traces(cgroup) == ([], [])


@pytest.mark.parametrize("uid", [0, 12345])
@pytest.mark.hostile("a conformance run killed with SIGKILL after it has moved itself and enabled controllers", times=2)
def test_a_killed_run_leaves_nothing_after_the_next(cgroup: Path, uid: int) -> None:
    give(cgroup, uid)
    left = Path(asked(cgroup, uid, "killed")["place"])
    assert left.is_dir()
    os.seteuid(uid)  # each user removes what is his
    try:
        assert remove_left_over(cgroup) == []
    finally:
        os.seteuid(0)
    assert traces(cgroup) == ([], [])


def test_a_user_to_whom_nothing_is_delegated_is_told_in_one_line(cgroup: Path) -> None:
    error = asked(cgroup, 12345)["error"]
    assert error.startswith(f"no cgroup that user 12345 may make others in: {cgroup} is not delegated, and ")
    assert "\n" not in error
    assert traces(cgroup)[0] == []


def test_an_own_cgroup_with_another_process_is_left_as_it_is(cgroup: Path) -> None:
    give(cgroup, 12345)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (cgroup / "cgroup.procs").write_text(str(other.pid))
        assert "is not delegated" in asked(cgroup, 12345)["error"]
        assert traces(cgroup) == ([], [])
        assert (cgroup / "cgroup.procs").read_text() == f"{other.pid}\n"
        other.kill()


def test_controllers_are_not_enabled_beside_a_cgroup_of_others(cgroup: Path) -> None:
    give(cgroup, 12345)
    other = cgroup / "other"
    other.mkdir()
    before = sorted(other.iterdir())
    assert "error" in asked(cgroup, 12345)
    assert (sorted(other.iterdir()), traces(cgroup)) == (before, ([], []))
    other.rmdir()


def test_directories_that_a_case_has_closed_to_its_user_are_removed(cgroup: Path) -> None:
    give(cgroup, 12345)
    os.seteuid(12345)
    try:
        own = OwnCgroup(cgroup)
        below = own.path / "a" / "b"
        below.mkdir(parents=True)
        for path in (below, below.parent, own.path):
            path.chmod(0)
        assert own.remove()
    finally:
        os.seteuid(0)
    assert traces(cgroup) == ([], [])
