"""A daemon without free descriptors or memory does with less or says so, and lives on."""

from __future__ import annotations

import logging
import os
import resource
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EMFILE, ENOMEM
from pathlib import Path

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.log_handlers import LogFile, SafeHandler
from fakecgroup_mount.host.processes import HostProcesses

from ..waiting import wait_until
from .conftest import COMMAND, REPOSITORY, Mount, daemon_of, is_alive, needs_fuse, run

Sleeper = Callable[..., "subprocess.Popen[bytes]"]


@contextmanager
def sleepers(number: int) -> Iterator[list[int]]:
    """So many processes that only sleep, all forked by one shell; killed at the end."""
    script = f"i=0; while [ $i -lt {number} ]; do sleep 1000 >/dev/null & echo $!; i=$((i+1)); done; echo; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        pids = [int(line) for line in iter(shell.stdout.readline, "\n")]
        try:
            yield pids
        finally:
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def populated(cgroup: Path) -> bool:
    return "populated 1\n" in (cgroup / "cgroup.events").read_text()


@needs_fuse
@pytest.mark.hostile("more processes in a cgroup than the daemon may have open files", times=80)
def test_more_processes_than_descriptors_are_followed_to_their_end(directory: Path, transport: str) -> None:
    words = [*COMMAND, "mount", str(directory), f"--transport={transport}"]
    script = f"ulimit -n 60; exec {' '.join(map(shlex.quote, words))}"
    done = subprocess.run(["sh", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    cgroup = directory / "a"
    cgroup.mkdir()
    with sleepers(80) as pids:
        for pid in pids:
            (cgroup / "cgroup.procs").write_text(str(pid))
        assert {*map(int, (cgroup / "cgroup.procs").read_text().split())} == {*pids}
        assert populated(cgroup)
    wait_until(lambda: not populated(cgroup))
    cgroup.rmdir()
    assert run("umount", "--force", directory).returncode == 0  # others' sandboxes may have a copy of the mount


def makes(cgroup: Path) -> bool:
    try:
        cgroup.mkdir()
    except OSError as error:
        assert error.errno == ENOMEM
        return False
    return True


@needs_fuse
@pytest.mark.hostile("cgroups made until the daemon has no memory")
def test_without_memory_a_cgroup_is_refused_and_the_tree_lives_on(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    daemon = daemon_of(tree)
    size = int(Path(f"/proc/{daemon}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(daemon, resource.RLIMIT_AS, (size + (8 << 20), resource.RLIM_INFINITY))
    made = []
    with pytest.raises(OSError, match=os.strerror(ENOMEM)):
        for number in range(100_000):
            (tree / f"{number}").mkdir()
            made.append(number)
    assert sorted(int(name) for name in os.listdir(tree) if name.isdecimal()) == made
    for number in made:
        (tree / f"{number}").rmdir()
    wait_until(lambda: makes(tree / "a"))  # once the memory is free again
    assert (tree / "a" / "cgroup.procs").read_text() == ""
    assert daemon_of(tree) == daemon
    assert is_alive(daemon)


def test_a_message_that_comes_again_and_again_is_written_less_and_less() -> None:
    said: list[str] = []
    handler = Listed(said)
    for number in range(1000):
        handler.emit(logging.LogRecord("name", logging.ERROR, "file", 1, "failed for the %dth time", (number,), None))
    handler.emit(logging.LogRecord("name", logging.ERROR, "file", 2, "another", (), None))
    assert said == [
        "failed for the 0th time\n",
        "failed for the 9th time (10 times by now)\n",
        "failed for the 99th time (100 times by now)\n",
        "failed for the 999th time (1000 times by now)\n",
        "another\n",
    ]


def test_what_cannot_be_logged_is_no_error(tmp_path: Path) -> None:
    logger = logging.Logger("name")
    (tmp_path / "file").touch()
    logger.addHandler(LogFile(tmp_path / "file" / "log"))
    logger.error("there is no such directory")
    logger.error("%d", "no number")


class Listed(SafeHandler):
    """Keeps the messages."""

    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def write(self, text: str) -> None:
        self._said.append(text)


# -- without a mount ----------------------------------------------------------------------------------


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> HostProcesses:
    """Processes at the limit of open files."""

    def refused(pid: int) -> int:
        raise OSError(EMFILE, os.strerror(EMFILE))

    monkeypatch.setattr(os, "pidfd_open", refused)
    return HostProcesses(IdMap(0, 0))


def test_an_exit_is_reported_without_a_descriptor(processes: HostProcesses, sleeper: Sleeper) -> None:
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    process = sleeper()
    kernel.write("/a/cgroup.procs", str(process.pid))
    process.kill()

    def is_told() -> bool:
        processes.report(kernel)
        return process.pid in processes.dead

    wait_until(is_told)
    process.wait()

    def is_forgotten() -> bool:
        processes.report(kernel)
        return process.pid not in processes.watched

    wait_until(is_forgotten)


def test_who_is_frozen_without_a_descriptor_is_stopped_and_goes_on(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    processes.watch(process.pid)
    processes.freeze(process.pid, True)
    wait_until(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text())
    processes.freeze(process.pid, False)
    wait_until(lambda: "\nState:\tS" in Path(f"/proc/{process.pid}/status").read_text())
