"""Cgroups that a run makes for itself: gone with it, also when it was killed, and never those of a run that lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakecgroup_mount.conformance import own_cgroup
from fakecgroup_mount.conformance.own_cgroup import PREFIX, OwnCgroup, remove_left_over
from fakecgroup_mount.host.cgroup_mounts import cgroup_mounts
from tests.waiting import wait_until

MOUNTS = [mount for mount in cgroup_mounts() if os.access(mount.point, os.W_OK) and os.geteuid() == 0]
NAMES = ["unified" if mount.unified else ",".join(mount.options) for mount in MOUNTS]

pytestmark = pytest.mark.skipif(not MOUNTS, reason="takes root and a cgroup hierarchy")

_NO_PROCESS = 1 << 22  # PID_MAX_LIMIT: no process has this number

#: Makes a cgroup with a process in a cgroup below it, prints its path, and waits.
RUN = """\
import os, signal, sys
from pathlib import Path
from fakecgroup_mount.conformance.own_cgroup import OwnCgroup

own = OwnCgroup(Path(sys.argv[1]))
below = own.path / "below"
below.mkdir()
if (below / "cpuset.mems").exists():
    for cgroup in (own.path, below):
        for file in ("cpuset.cpus", "cpuset.mems"):
            (cgroup / file).write_text((own.path.parent / file).read_text())
ready, running = os.pipe()
child = os.fork()
if child == 0:
    os.write(running, b"x")
    signal.pause()
os.read(ready, 1)
(below / "cgroup.procs").write_text(str(child))
for file, frozen in (("freezer.state", "FROZEN"), ("cgroup.freeze", "1")):
    if (below / file).exists():
        (below / file).write_text(frozen)
print(own.path, child, flush=True)
signal.pause()
"""


class Run:
    """A run in another process."""

    def __init__(self, parent: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", RUN, str(parent)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        path, child = self.process.stdout.readline().split()
        self.path, self.child = Path(path), int(child)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture(params=MOUNTS, ids=NAMES)
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A cgroup of the test's own in each hierarchy, below which runs are made."""
    own = request.param.point / f"fcg-test-{os.getpid()}"
    own.mkdir()
    for file in ("cpuset.cpus", "cpuset.mems"):
        if not request.param.unified and (own / file).exists():
            (own / file).write_text((request.param.point / file).read_text())
    yield own
    remove_left_over(own)
    wait_until(lambda: _gone(own))


def _gone(cgroup: Path) -> bool:
    try:
        cgroup.rmdir()
    except OSError:
        return not cgroup.exists()
    return True


def test_a_cgroup_is_removed_with_what_is_below_it(place: Path) -> None:
    own = OwnCgroup(place)
    (own.path / "a" / "b").mkdir(parents=True)
    assert own.path.name.startswith(PREFIX)
    assert (own.remove(), list(place.glob(f"{PREFIX}*"))) == (True, [])


@pytest.mark.hostile("a conformance run killed with SIGKILL while its processes are frozen")
def test_the_next_run_removes_what_a_killed_one_left(place: Path) -> None:
    run = Run(place)
    run.kill()
    assert run.path.is_dir()
    assert remove_left_over(place) == []
    assert not run.path.exists()
    wait_until(lambda: not Path(f"/proc/{run.child}/root").exists())


def test_a_run_that_lives_is_left_alone(place: Path) -> None:
    run = Run(place)
    try:
        assert remove_left_over(place) == []
        assert (run.path / "below").is_dir()
    finally:
        run.kill()


def test_a_lock_tells_of_a_run_whose_process_is_in_another_pid_namespace(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_cgroup, "name_of_run", lambda: f"{PREFIX}{_NO_PROCESS}-1")
    own = OwnCgroup(place)
    assert remove_left_over(place) == []
    assert own.path.is_dir()
    assert own.remove()


def test_what_is_only_called_alike_is_left_alone(place: Path) -> None:
    others = [place / f"{PREFIX}notes", place / f"{PREFIX}{os.getpid()}-0.scope", place / "fakecgroup-other"]
    for other in others:
        other.mkdir()
    assert remove_left_over(place) == []
    assert [other.is_dir() for other in others] == [True] * 3
    for other in others:
        other.rmdir()
