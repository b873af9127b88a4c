"""Starts under `fakecgroup warm`: who is served, and that nothing is left."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakecgroup_mount.host.usage import parent_of
from fakecgroup_mount.warm import VARIABLE
from fakecgroup_mount.warm.client import REFUSED

from ...waiting import wait_until
from ..conftest import COMMAND, OTHER_UID, REPOSITORY, is_alive, needs_root, run

pytestmark = pytest.mark.usefixtures("fuse", "state_home")

FRONT = "tr '\\0' ' ' </proc/$PPID/cmdline"  # of `fakecgroup run`, or of the server that was forked
WHO = [*COMMAND, "run", "--", "sh", "-c", FRONT]


def warm(script: str) -> subprocess.CompletedProcess[str]:
    """A sh script under `fakecgroup warm`; $FAKE is the command `fakecgroup`."""
    return run("warm", "--", "sh", "-c", script, env={**os.environ, "FAKE": shlex.join(COMMAND)})


@pytest.fixture
def served(warm_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(VARIABLE, warm_server)
    yield warm_server


def is_served(*before: str) -> bool:
    """Whether `fakecgroup run` is served, started after these words. It has to work in any case."""
    done = subprocess.run([*before, *WHO], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert (done.returncode, done.stderr) == (0, ""), done
    return " warm " in done.stdout


def test_who_has_what_the_server_has_is_served(served: str) -> None:
    assert is_served()


@pytest.mark.parametrize(
    "before",
    [
        ["prlimit", "--nofile=500", "--"],
        ["nice"],
        ["setpriv", "--no-new-privs"],
        ["setsid", "--wait"],
        ["unshare", "-Ur"],
        ["taskset", "-c", "0"],
        ["choom", "-n", "7", "--"],
        ["setarch", "-R"],
        ["env", "-u", VARIABLE],
        ["env", f"{VARIABLE}=fakecgroup-warm-nobody"],
    ],
    ids=lambda before: before[0],
)
def test_who_has_anything_else_starts_as_always(served: str, before: list[str]) -> None:
    if shutil.which(before[0]) is None:
        pytest.skip(f"no {before[0]}")
    if before[0] == "taskset" and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one CPU")
    assert not is_served(*before)


@needs_root
def test_another_user_is_not_served(served: str) -> None:
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.setresuid(OTHER_UID, OTHER_UID, OTHER_UID)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect("\0" + served)
                os.write(writing, client.recv(1))
        finally:
            os._exit(0)
    os.close(writing)
    os.wait()
    assert os.read(reading, 2) == REFUSED
    os.close(reading)


@pytest.mark.parametrize(
    "sent", [b"", b"\xff\xff\xff\x7f", b"\x04\0\0\0abcd", b"\x05\0\0\x001\x002\0\x003", b"\x00" * 9]
)
def test_what_no_client_sends_is_refused_and_others_are_served(served: str, sent: bytes) -> None:
    asking = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect('\\0' + sys.argv[1]);"
        "s.send(bytes.fromhex(sys.argv[2])); s.shutdown(socket.SHUT_WR); print(s.recv(1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asking, served, sent.hex()], capture_output=True, text=True, check=False
    )
    assert done.stdout == "b'-'\n", done
    assert is_served()


def test_a_start_takes_on_all_that_it_was_given(served: str, tmp_path: Path) -> None:
    script = "pwd; umask; echo $MINE; cat; cat <&7; trap; exit 5"
    (tmp_path / "seven").write_text("seven\n")
    inner = " ".join(f"'{word}'" for word in COMMAND) + f" run -- sh -c '{script}'"
    done = subprocess.run(
        ["sh", "-c", f"umask 27; trap '' USR1; exec 7<seven; {inner}"],
        cwd=tmp_path,
        input="in\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MINE": "mine", "PYTHONPATH": ""},
    )
    assert (done.returncode, done.stdout) == (5, f"{tmp_path}\n0027\nmine\nin\nseven\n"), done


def test_a_start_has_the_files_of_its_client_alone(served: str, tmp_path: Path) -> None:
    nine, out = tmp_path / "nine", tmp_path / "out"
    nine.write_text("")
    inner = shlex.join([*COMMAND, "run", "--", "sh", "-c", "for fd in /proc/$$/fd/*; do readlink $fd; done"])
    with out.open("w") as stdout:
        subprocess.run(
            ["sh", "-c", f"exec 9<{nine}; exec {inner}"],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    assert sorted(out.read_text().splitlines()) == ["/dev/null", "/dev/null", str(nine), str(out)]


def test_words_that_are_no_text_arrive(served: str) -> None:
    done = subprocess.run([*COMMAND, "run", "--", b"printf", b"%s", b"\xff\xfe"], capture_output=True, check=False)
    assert done.stdout == b"\xff\xfe"


def test_the_command_in_the_tree_knows_of_no_server(served: str) -> None:
    assert VARIABLE not in run("run", "--", "env").stdout


def test_a_mount_made_so_stays_and_is_unmounted_so(tmp_path: Path) -> None:
    done = warm(f"eval $FAKE mount {tmp_path}; cat {tmp_path}/cgroup.controllers >&2")
    assert done.returncode == 0 and "cpu" in done.stderr
    assert (tmp_path / "cgroup.procs").exists()
    assert warm(f"eval $FAKE umount {tmp_path}").returncode == 0
    assert not (tmp_path / "cgroup.procs").exists()


@pytest.mark.parametrize(
    ("script", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("eval $FAKE run -- sh -c \"'exit 3'\"", 3)]
)
def test_it_ends_as_the_command_does(script: str, status: int) -> None:
    assert warm(script).returncode == status


@pytest.mark.parametrize(("command", "status"), [("/nowhere", 127), ("/etc/passwd", 126), ("", 127)])
def test_a_command_that_cannot_be_executed_is_one_line(command: str, status: int) -> None:
    done = run("warm", "--", command)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)


def test_without_a_command_it_says_so() -> None:
    done = run("warm")
    assert (done.returncode, done.stderr) == (2, "fakecgroup warm: what command? (see fakecgroup warm --help)\n")


def test_the_server_ends_with_the_command() -> None:
    name = warm("echo $FAKECGROUP_WARM").stdout.strip()
    assert name.startswith("fakecgroup-warm-")
    wait_until(lambda: name not in Path("/proc/net/unix").read_text())


def test_a_start_that_outlives_the_command_ends_with_its_own_status(tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = f"(eval $FAKE run -- sh -c \"'sleep 1; exit 4'\"; echo $? >{said}) >/dev/null 2>&1 &"
    name = warm(f"{script} echo $FAKECGROUP_WARM; sleep 0.5").stdout.strip()
    wait_until(lambda: said.exists() and said.read_text() == "4\n")
    wait_until(lambda: name not in Path("/proc/net/unix").read_text())


@pytest.fixture
def own_server() -> Iterator[tuple[str, int, int]]:
    """A server of this test's: its name, its pid and that of its `fakecgroup warm`."""
    with subprocess.Popen(
        [*COMMAND, "warm", "--", "sh", "-c", "echo $FAKECGROUP_WARM; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        name = process.stdout.readline().strip()
        yield name, children_of(process.pid)[0], process.pid
        process.stdin.close()


def test_the_server_ends_where_its_starter_is_killed(own_server: tuple[str, int, int]) -> None:
    name, server, starter = own_server
    os.kill(starter, signal.SIGKILL)
    wait_until(lambda: not is_alive(server))
    assert name not in Path("/proc/net/unix").read_text()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("killed", ["client", "keeper"])
def test_whichever_is_killed_the_command_ends_too(own_server: tuple[str, int, int], killed: str) -> None:
    name, _, _ = own_server
    with started("echo $PPID; exec sleep 300", name) as process:
        assert process.stdout is not None and process.stderr is not None
        keeper = parent_of(int(process.stdout.readline()))
        os.kill(process.pid if killed == "client" else keeper, signal.SIGKILL)
        assert process.stdout.read() == ""  # until nobody has it open
        said = process.stderr.read()
    message = "fakecgroup: the keeper of `fakecgroup warm` was killed\n"
    assert (process.returncode, said) == ((-9, "") if killed == "client" else (1, message))


def test_commands_go_on_where_the_server_is_killed(own_server: tuple[str, int, int]) -> None:
    name, server, _ = own_server
    with started("echo ready; read -r word; exit $word", name) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        os.kill(server, signal.SIGKILL)
        process.stdin.write("6\n")
        process.stdin.close()
    assert process.returncode == 6
    assert started("exit 5", name).wait() == 5


def started(script: str, server: str) -> subprocess.Popen[str]:
    """A sh script in a tree, started by this server."""
    return subprocess.Popen(
        [*COMMAND, "run", "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, VARIABLE: server},
    )


@pytest.mark.parametrize(
    "start",
    [
        "$FAKE run -- true",
        "$FAKE run --wrong",
        "$FAKE run -- sh -c 'kill -KILL $PPID'",
        "$FAKE run -- sleep 9 & sleep 0.5; kill -KILL $!; wait $!",
        "$FAKE run -- sh -c 'kill -KILL $(cut -d\" \" -f4 /proc/$PPID/stat)'",  # the keeper
        "$FAKE run -- sleep 1 & sleep 0.5; kill -KILL $(cut -d' ' -f1 /proc/$PPID/task/$PPID/children)",  # the server
    ],
)
def test_who_is_stopped_beside_a_start_keeps_its_process_group_alive(start: str) -> None:
    """A process that leaves a group without a shell has the kernel hang it up if one in it is stopped."""
    start = start.replace("$FAKE", shlex.join(COMMAND))
    script = f"sleep 300 & kill -STOP $!; stopped=$!; {start}; sleep 0.1; kill -KILL $stopped; echo alive"
    done = subprocess.run(
        ["setsid", "--wait", *COMMAND, "warm", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done
