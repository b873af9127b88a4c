"""The start and the end of the command: exit status, signals, leftovers."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from errno import EAGAIN
from pathlib import Path

import pytest

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host import daemon
from fakecgroup_mount.run.sandbox import Hierarchies, Sandbox, enter
from fakecgroup_mount.seccomp.filter import program
from fakecgroup_mount.warm import VARIABLE

from ...waiting import wait_until
from ..conftest import COMMAND, REPOSITORY, is_alive, run
from .conftest import Sandboxed, said


@pytest.fixture(autouse=True, params=["cold", "warm"])
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is the same under `fakecgroup warm`."""
    monkeypatch.delenv(VARIABLE, raising=False)
    if request.param == "warm":
        monkeypatch.setenv(VARIABLE, request.getfixturevalue("warm_server"))


FOUND_IN_PS = pytest.mark.parametrize("start", ["cold"], indirect=True)
"""For tests that find a daemon by its command line. A warm one has that of `fakecgroup warm`."""


def heed_signals() -> None:
    """The tests may run where some are ignored, as in the background of a shell, and a shell cannot trap those."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def started(sandboxed: Sandboxed) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a sh script in front of a tree, which has said "ready" when it is returned."""
    processes: list[subprocess.Popen[str]] = []

    def start(script: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, "run", "--", "sh", "-c", script],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,
        )
        processes.append(process)
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            assert line, process.communicate()
            process.pids = [*getattr(process, "pids", []), int(line)]  # type: ignore[attr-defined]
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def pids_of(process: subprocess.Popen[str]) -> list[int]:
    """The numbers that a started script has said before it was ready."""
    return list(process.pids)  # type: ignore[attr-defined]


def test_the_exit_status_is_the_commands(sandboxed: Sandboxed) -> None:
    assert sandboxed("exit 42").returncode == 42


def test_a_signals_number_is_in_the_exit_status_as_in_a_shells(sandboxed: Sandboxed) -> None:
    assert sandboxed("kill -TERM $$").returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("command", "status", "complaint"),
    [
        (["/no/such"], 127, "fakecgroup run: /no/such: No such file or directory\n"),
        (["/etc/passwd"], 126, "fakecgroup run: /etc/passwd: Permission denied\n"),
        ([""], 127, "fakecgroup run: : No such file or directory\n"),
    ],
)
def test_a_command_that_cannot_be_executed_is_one_line(
    sandboxed: Sandboxed, command: list[str], status: int, complaint: str
) -> None:
    done = run("run", *command)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", complaint)


@pytest.mark.parametrize("arguments", [[], ["--"], ["--layout=v3", "true"], ["--kernel=2.6", "true"]])
def test_a_wrong_command_line_is_one_line_and_status_2(arguments: list[str]) -> None:
    done = run("run", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


def test_options_of_the_command_are_its_own(sandboxed: Sandboxed) -> None:
    assert said(run("run", "--layout", "v2", "echo", "--layout", "-x", "--")) == "--layout -x --\n"


def test_input_output_and_open_files_are_the_commands(sandboxed: Sandboxed, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("third")
    with open(tmp_path / "file") as file:
        script = f"cat; echo two >&2; cat /proc/self/fd/{file.fileno()}"
        done = run("run", "sh", "-c", script, stdin=None, input="one ", pass_fds=[file.fileno()])
    assert (done.returncode, done.stdout, done.stderr) == (0, "one third", "two\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_files_that_are_closed_are_closed_for_the_command(sandboxed: Sandboxed, closed: str) -> None:
    script = "for i in 0 1 2; do [ -e /proc/self/fd/$i ] || n=${n}1; done; mkdir /sys/fs/cgroup/a && exit ${#n}"
    inner = " ".join(map(shlex.quote, [*COMMAND, "run", "sh", "-c", script]))
    done = subprocess.run(["sh", "-c", f"{inner} {closed}"], cwd=REPOSITORY, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == closed.count("&")


def test_the_command_has_the_starters_directory_environment_and_signals(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = "pwd; echo $WORD; grep -E '^Sig(Blk|Ign)' /proc/self/status"
    command = [*COMMAND, "run", "sh", "-c", script]
    environment = {**os.environ, "WORD": "a word", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=30, preexec_fn=heed_signals
    )
    nothing = "0" * 16
    assert done.stdout == f"{tmp_path}\na word\nSigBlk:\t{nothing}\nSigIgn:\t{nothing}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on(started: Callable[[str], subprocess.Popen[str]], number: signal.Signals) -> None:
    name = number.name[3:]
    process = started(f"trap 'echo heard; exit 7' {name}; echo ready; while :; do sleep 0.05; done")
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (7, "heard\n")


def test_we_stop_and_go_on_with_the_command(started: Callable[[str], subprocess.Popen[str]]) -> None:
    process = started("echo ready; kill -STOP $$; echo again")
    wait_until(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text())
    process.send_signal(signal.SIGCONT)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "again\n")


def test_what_the_command_leaves_behind_is_killed(sandboxed: Sandboxed) -> None:
    done = sandboxed("sleep 300 >/dev/null 2>&1 & echo $!; setsid sleep 300 >/dev/null 2>&1 & echo $!")
    pids = [int(line) for line in done.stdout.split()]
    assert len(pids) == 2
    assert [pid for pid in pids if is_alive(pid)] == []


def test_what_it_leaves_in_user_namespaces_of_their_own_is_killed_too(sandboxed: Sandboxed) -> None:
    asleep = "sh -c 'unshare -U sleep 300 >/dev/null 2>&1 & echo $!; sleep 300 >/dev/null 2>&1 & echo $!; sleep 0.2'"
    pids = [int(line) for line in sandboxed(f"unshare -U {asleep}").stdout.split()]
    assert len(pids) == 2
    assert [pid for pid in pids if is_alive(pid)] == []


def test_nothing_is_mounted_outside(sandboxed: Sandboxed) -> None:
    def ours() -> set[str]:
        return {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if " /sys/fs/cgroup" in line}

    before = ours()
    said(sandboxed("mkdir /sys/fs/cgroup/a"))
    assert ours() == before


@FOUND_IN_PS
def test_a_killed_front_leaves_nothing(started: Callable[[str], subprocess.Popen[str]]) -> None:
    process = started("sleep 300 & echo $!; (setsid sleep 300 & echo $!); echo $$; echo ready; cat >/dev/null")
    pids = [*pids_of(process), *servers_of(process.pid)]
    assert len(pids) == 4
    process.kill()
    wait_until(lambda: not any(map(is_alive, pids)))


def test_a_sandbox_that_nobody_waits_for_ends_at_once() -> None:
    (front, front_peer), (server, server_peer) = socket.socketpair(), socket.socketpair()
    front_peer.close()
    server_peer.close()
    pid = os.fork()
    if pid == 0:
        try:
            enter(lambda: Sandbox(Hierarchies(), program({}, {}), ["true"], frozenset()), front, server)
        finally:
            os._exit(99)  # it would go on as a second front
    front.close()
    server.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize(
    "step", ["server_start._joined", "server._mounted", "server.handlers", "server.Listener.start", "server._await_end"]
)
def test_a_server_that_is_killed_while_the_command_starts_is_one_line(sandboxed: Sandboxed, step: str) -> None:
    dies = f"""
import os, signal, sys
from fakecgroup_mount.cli.program import main
from fakecgroup_mount.run import server, server_start
def dies(*_): os.kill(os.getpid(), signal.SIGKILL)
{step} = dies
sys.exit(main())
"""
    command = [sys.executable, "-c", dies, "run", "sleep", "1000"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    said = done.stderr.splitlines()
    assert (done.returncode, len(said)) == (1, 1), done.stderr
    assert said[0].startswith("fakecgroup run: the daemon behind the tree has ended")


@FOUND_IN_PS
def test_a_killed_server_ends_the_command_with_one_line(started: Callable[[str], subprocess.Popen[str]]) -> None:
    process = started("while :; do cat /proc/self/cgroup >/dev/null; done & echo $!; echo $$; echo ready; read nothing")
    (server,) = servers_of(process.pid)
    os.kill(server, signal.SIGKILL)
    assert process.wait(timeout=60) == 1  # with its input still open
    _, complaint = process.communicate(timeout=60)
    assert complaint.startswith("fakecgroup run: the daemon behind the tree has ended")
    assert complaint.count("\n") == 1
    wait_until(lambda: not any(map(is_alive, pids_of(process))))


ASKS_THE_TREE = f"""
d=/sys/fs/cgroup/a/b/c/d; mkdir -p $d
for _ in 1 2; do
    {sys.executable} -c "import os; os.write(1, b'%d\\n' % os.getpid())\nwhile True: os.statvfs('$d')" &
done
"""


@FOUND_IN_PS
@pytest.mark.parametrize("attempt", range(4))
def test_a_server_that_is_killed_while_it_waits_for_itself_leaves_nothing(
    attempt: int, started: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = started(f"{ASKS_THE_TREE} sleep 0.3; echo $$; echo ready; read nothing")
    (server,) = servers_of(process.pid)
    threads = [f"/proc/{server}/task/{tid}" for tid in os.listdir(f"/proc/{server}/task")]
    os.kill(server, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until(lambda: not any(map(os.path.exists, threads)))


def servers_of(front: int) -> list[int]:
    """The daemons that the front of a sandbox has started: they have what it was started with in their environment."""
    marks = Path(f"/proc/{front}/cmdline").read_bytes(), Path(f"/proc/{front}/environ").read_bytes()
    found = []
    for name in os.listdir("/proc"):
        try:
            process = Path(f"/proc/{name}")
            if name.isdecimal() and (process / "cmdline").read_bytes() == marks[0] and int(name) != front:
                found += [int(name)] if (process / "environ").read_bytes() == marks[1] else []
        except OSError:
            continue
    return found


def test_one_in_another_is_refused_with_one_line(sandboxed: Sandboxed) -> None:
    command = " ".join(f"'{word}'" for word in COMMAND)
    done = sandboxed(f"{command} run true")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "there can be only one" in done.stderr


def test_where_no_process_may_be_started_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(EAGAIN, os.strerror(EAGAIN))

    monkeypatch.setattr(os, "fork", fork)  # as RLIMIT_NPROC has it, which does not hold root back
    with pytest.raises(MountError, match="cannot start a daemon: Resource temporarily unavailable"):
        daemon.start(lambda ready: None)


def test_without_user_namespaces_one_line_says_so(sandboxed: Sandboxed) -> None:
    script = f"echo 0 > /proc/sys/user/max_user_namespaces; exec {' '.join(map(repr, COMMAND))} run true"
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert "user.max_user_namespaces" in done.stderr
