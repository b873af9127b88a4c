"""The lock on a kubepods: one engine at a time, whoever they are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cgroup_engine.change.lock import locked
from cgroup_engine.errors import LockedError, RootError
from cgroup_engine.tree.layout import Layout

from ...waiting import wait_until

V2 = Layout(2, ("",), {})
V1 = Layout(1, ("cpu", "memory"), {})
KUBEPODS = "own/kubepods"

# takes the lock as a user, says so, and holds it until its standard input ends
HOLDER = """
import os, sys
from cgroup_engine.tree.layout import Layout
from cgroup_engine.change.lock import locked
os.setuid(int(sys.argv[1]))
with locked(sys.argv[2], Layout(2, ("",), {}), sys.argv[3]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def tree() -> Iterator[Path]:
    """A directory with the files of a cgroup root that can be locked, where any user may pass."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        for directory in ("", "cpu", "own", "own/kubepods"):
            (Path(made) / directory).mkdir(exist_ok=True)
            (Path(made) / directory / "cgroup.procs").write_text("")
        yield Path(made)


def test_a_second_engine_is_refused_and_told_who_is_there(tree: Path) -> None:
    with locked(str(tree), V2, KUBEPODS), pytest.raises(LockedError) as refused, locked(str(tree), V2, KUBEPODS):
        pass
    assert f"(pid {os.getpid()}) is at work on /own/kubepods; end it first" in str(refused.value)


def test_v1_is_locked_in_its_first_hierarchy(tree: Path) -> None:
    (tree / "cgroup.procs").unlink()
    with locked(str(tree), V1, KUBEPODS), pytest.raises(LockedError), locked(str(tree), V1, KUBEPODS):
        pass


def test_the_lock_is_gone_with_its_holder(tree: Path) -> None:
    with locked(str(tree), V2, KUBEPODS):
        pass
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, "0", str(tree), KUBEPODS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockedError, match=f"pid {holder.pid}"), locked(str(tree), V2, KUBEPODS):
            pass
        holder.kill()
        holder.wait()

        def is_free() -> bool:
            try:
                with locked(str(tree), V2, KUBEPODS):
                    return True
            except LockedError:
                return False

        wait_until(is_free)  # its files are closed a little after it has ended


def test_engines_with_other_cgroup_roots_do_not_meet(tree: Path) -> None:
    with locked(str(tree), V2, KUBEPODS), locked(str(tree), V2, "kubepods"):
        for each in (KUBEPODS, "kubepods"):
            with pytest.raises(LockedError), locked(str(tree), V2, each):
                pass


def test_a_root_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RootError, match=r"cgroup.procs: cannot be locked: ENOENT"), locked(str(tmp_path), V2, "x"):
        pass


def _holder(user: int, tree: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(user), str(tree), KUBEPODS]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("owned", "first", "second"),
    [
        ({"own": 1000}, 1000, 0),
        ({"own": 1000}, 0, 1000),
        ({"own": 1000, "own/kubepods": 2000}, 1000, 2000),
        ({"own": 1000, "own/kubepods": 2000}, 2000, 1000),
    ],
)
def test_who_may_write_only_below_meets_who_may_write_above(
    tree: Path, owned: dict[str, int], first: int, second: int
) -> None:
    for directory, user in owned.items():
        os.chown(tree / directory / "cgroup.procs", user, user)
    with _holder(first, tree) as one:
        assert one.stdin is not None
        assert one.stdout is not None
        assert one.stdout.readline() == "held\n"
        with _holder(second, tree) as other:
            assert "is at work on /own/kubepods" in other.communicate("")[1]
        one.stdin.close()
    with _holder(second, tree) as other:
        assert other.communicate("")[0] == "held\n"


@pytest.mark.usefixtures("root")
def test_who_may_write_nowhere_is_told_so(tree: Path) -> None:
    with _holder(1000, tree) as one:
        assert f"{tree}/cgroup.procs: cannot be locked: EACCES; run as root or as the owner" in one.communicate("")[1]
