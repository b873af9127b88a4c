"""v1's release_agent on a mounted tree: the daemon runs a real program as the kernel would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ...waiting import wait_until
from ..conftest import daemon_of, is_alive, run, shell

Sleeper = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A file for agents to write to."""
    return tmp_path / "told"


def agent(pids: Path, tmp_path: Path, script: str) -> Path:
    """Makes a sh script the release agent."""
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    (pids / "release_agent").write_text(str(program))
    return program


def release(group: Path) -> None:
    """Moves a process into a cgroup, which is made if it is missing, and out of it."""
    group.mkdir(exist_ok=True)
    with subprocess.Popen(["sleep", "300"]) as process:
        (group / "tasks").write_text(str(process.pid))
        (group.parent / "tasks").write_text(str(process.pid))
        process.kill()


def lines(told: Path, count: int) -> list[str]:
    """The lines that agents have written, once there are `count`."""
    wait_until(lambda: told.exists() and len(told.read_text().splitlines()) >= count)
    return told.read_text().splitlines()


def starters(daemon: int) -> list[int]:
    """The daemon's children."""
    return [int(pid) for pid in Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()] + [
        int(pid)
        for task in Path(f"/proc/{daemon}/task").iterdir()
        if int(task.name) != daemon
        for pid in (task / "children").read_text().split()
    ]


def test_the_agent_is_told_the_cgroup_that_was_left(pids: Path, tmp_path: Path, told: Path) -> None:
    agent(pids, tmp_path, f'echo "$# $1" >>{told}')
    release(pids / "a b")
    assert lines(told, 1) == ["1 /a b"]


def test_the_agent_is_told_when_the_last_process_dies(pids: Path, tmp_path: Path, told: Path, sleeper: Sleeper) -> None:
    agent(pids, tmp_path, f'echo "$1" >>{told}')
    (pids / "a").mkdir()
    process = sleeper()
    (pids / "a" / "tasks").write_text(str(process.pid))
    process.kill()
    assert lines(told, 1) == ["/a"]


def test_a_thread_that_stays_keeps_its_cgroup(pids: Path, tmp_path: Path, told: Path) -> None:
    agent(pids, tmp_path, f'echo "$1" >>{told}')
    (pids / "a").mkdir()
    script = (
        "import os, threading; open('a/tasks', 'w').write('0')\n"
        "threading.Thread(target=input).start(); open('tasks', 'w').write(str(os.getpid())); print(flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=pids, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len((pids / "a" / "tasks").read_text().split()) == 1
        time.sleep(0.1)
        assert not told.exists()
    assert lines(told, 1) == ["/a"]


def test_the_agent_can_remove_the_cgroup(pids: Path, tmp_path: Path) -> None:
    agent(pids, tmp_path, f'rmdir "{pids}$1"')
    (pids / "a").mkdir()
    release(pids / "a" / "b")
    wait_until(lambda: not (pids / "a").exists())  # it is told of a, once a/b is gone


def test_the_agent_is_a_process_as_the_kernel_makes_it(pids: Path, tmp_path: Path, told: Path) -> None:
    agent(
        pids,
        tmp_path,
        f"tr '\\0' '\\n' </proc/$$/environ >{told}.new; pwd >>{told}.new; umask >>{told}.new\n"
        f"id -u >>{told}.new; id -g >>{told}.new; ulimit -n >>{told}.new; mv {told}.new {told}",
    )
    release(pids / "a")
    assert lines(told, 7) == [
        "HOME=/",
        "PATH=/sbin:/bin:/usr/sbin:/usr/bin",
        "/",
        "0022",
        str(os.geteuid()),
        str(os.getegid()),
        "1024",
    ]


def test_the_agent_has_no_signal_blocked_or_ignored(pids: Path, tmp_path: Path, told: Path) -> None:
    words = "Sig[BI][lg][kn]:"  # read by the shell itself, which blocks all while it starts a program
    script = f"while read -r name value; do case $name in {words}) echo $value >>{told};; esac; done </proc/$$/status"
    agent(pids, tmp_path, script)
    release(pids / "a")
    libc_cannot_name = 0b11 << 31  # its own two signals
    assert [int(line, 16) & ~libc_cannot_name for line in lines(told, 2)] == [0, 0]


def test_the_agent_has_no_file_open(pids: Path, tmp_path: Path, told: Path) -> None:
    """But those that it opens itself: sh its script, as 0 is free then."""
    agent(pids, tmp_path, f"readlink /proc/$$/fd/* >{told}")
    release(pids / "a")
    assert all(re.search("/agent$|/told$", line) for line in lines(told, 1))


def test_an_agent_that_takes_its_time_keeps_nobody_waiting(pids: Path, tmp_path: Path, told: Path) -> None:
    agent(pids, tmp_path, f"echo $$ >>{told}; exec sleep 300 <>/dev/null >&0 2>&0")
    for name in "abc":
        release(pids / name)
    running = [int(line) for line in lines(told, 3)]
    try:
        assert sorted(path.name for path in pids.iterdir() if path.is_dir()) == ["a", "b", "c"]
        assert all(map(is_alive, running))
    finally:
        for pid in running:
            os.kill(pid, 9)


def test_each_of_many_releases_is_told(pids: Path, tmp_path: Path, told: Path) -> None:
    agent(pids, tmp_path, f'echo "$1" >>{told}')
    with subprocess.Popen(["sleep", "300"]) as process:
        for number in range(30):
            (pids / str(number)).mkdir()
            for group in (pids / str(number), pids):
                (group / "tasks").write_text(str(process.pid))
        process.kill()
    assert sorted(lines(told, 30)) == sorted(f"/{number}" for number in range(30))


def test_no_zombie_is_left(pids: Path, tmp_path: Path, told: Path) -> None:
    agent(pids, tmp_path, f"echo $$ >>{told}")
    for name in "abc":
        release(pids / name)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in lines(told, 3)))


@pytest.mark.parametrize("path", ["/no/such/agent", "{tree}/pids/release_agent", "{tree}/pids/a", "/dev/null"])
def test_an_agent_that_cannot_be_started_is_logged_once(pids: Path, state_home: Path, path: str) -> None:
    (pids / "release_agent").write_text(path.format(tree=pids.parent))
    release(pids / "a")
    release(pids / "b")
    written = state_home / "fakecgroup" / "daemon.log"
    wait_until(written.exists)
    assert sorted(entry.name for entry in pids.iterdir() if entry.is_dir()) == ["a", "b"]
    text = written.read_text()
    written.unlink()
    assert len(text.splitlines()) == 1
    assert re.search(r"release agent '.*' for cgroup '/a': (No such file|Permission denied)", text)


def test_a_relative_agent_is_found_from_the_root(pids: Path, tmp_path: Path, told: Path) -> None:
    program = agent(pids, tmp_path, f'echo "$0" >>{told}')
    (pids / "release_agent").write_text(str(program)[1:])
    release(pids / "a")
    assert lines(told, 1) == [str(program)[1:]]


def test_nothing_runs_once_the_tree_is_unmounted(pids: Path, tmp_path: Path, told: Path, sleeper: Sleeper) -> None:
    agent(pids, tmp_path, f'echo "$1" >>{told}')
    release(pids / "a")
    assert lines(told, 1) == ["/a"]
    daemon, process = daemon_of(pids.parent), sleeper()
    (starter,) = starters(daemon)
    (pids / "a" / "tasks").write_text(str(process.pid))
    assert run("umount", pids.parent).returncode == 0
    process.kill()
    wait_until(lambda: not is_alive(starter))
    time.sleep(0.1)
    assert lines(told, 1) == ["/a"]


def test_a_tree_whose_agent_never_ran_has_no_process_for_it(pids: Path) -> None:
    release(pids / "a")
    assert starters(daemon_of(pids.parent)) == []


def test_an_agent_by_hand(pids: Path, tmp_path: Path, told: Path) -> None:
    """As a script would: the shell itself enters and leaves with its end."""
    agent(pids, tmp_path, f'rmdir "{pids}$1" && echo "$1" >>{told}')
    assert shell("mkdir a && sh -c 'echo $$ >a/cgroup.procs'", pids) == (0, "", "")
    assert lines(told, 1) == ["/a"]
    assert not (pids / "a").exists()
