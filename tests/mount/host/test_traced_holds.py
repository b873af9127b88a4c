"""Threads that are held by ptrace(2) stand still, and nobody sees a stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakecgroup_mount.host import tasks, traced_holds
from fakecgroup_mount.host.traced_holds import TracedHolds
from fakecgroup_mount.host.usage import cpu_clock, stat_of

from ...waiting import wait_until

BUSY = "print(flush=True)\nwhile True: pass"
HANDLER = "import signal, sys\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n"
TWO_THREADS = """
import sys, threading, zlib
threading.Thread(target=sys.stdin.read, daemon=True).start()
print(flush=True)
while True: zlib.crc32(bytes(1 << 24))
"""
# It dies with its parent, even while it is stopped (PR_SET_PDEATHSIG).
CHILD = "import ctypes, os\nparent = os.getppid()\nctypes.CDLL(None).prctl(1, 9)\nwhile os.getppid() == parent: pass"
PARENT = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", {CHILD!r}], stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
_, status = os.waitpid(child.pid, os.WUNTRACED)
print("stopped" if os.WIFSTOPPED(status) else "ended", flush=True)
child.kill()
"""
# A thread executes a program once a file is there. `{also}` is what else the process does, without Python's lock.
EXECUTES = """
import hashlib, os, sys, threading
busy = lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
def execute():
    while not os.path.exists({go!r}): pass
    os.execv(sys.executable, [sys.executable, "-S", "-c", "print('executed', flush=True)\\nwhile True: pass"])
{also}
"""
BEGIN = "threading.Thread(target=execute).start(); print(flush=True); "
HOLDER = """
import sys, time
from fakecgroup_mount.host.traced_holds import TracedHolds
from fakecgroup_mount.host.usage import stat_of
from fakecgroup_mount.host import tasks
pid = int(sys.argv[1])
print(TracedHolds().hold(pid, stat_of(pid)[tasks.START]), flush=True)
time.sleep(100)
"""


@pytest.fixture
def holds() -> TracedHolds:
    return TracedHolds()


class Program(subprocess.Popen[str]):
    """A Python program that has printed its first line."""

    def __init__(self, text: str) -> None:
        super().__init__(
            [sys.executable, "-S", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self.stdout is not None
        self.first = self.stdout.readline()

    def __exit__(self, *error: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # Popen.kill would take a stop of ours for its end
        super().__exit__(*error)


def starts(pid: int) -> str:
    return stat_of(pid)[tasks.START]


def hold(holds: TracedHolds, pid: int) -> None:
    """Holds a process that is about to run, once it does."""
    wait_until(lambda: holds.hold(pid, starts(pid)) and tasks.state(pid) == "t")


def let_go(holds: TracedHolds, pid: int) -> None:
    holds.let_go(pid)
    wait_until(holds.settle)


@pytest.fixture
def busy() -> Iterator[Program]:
    with Program(BUSY) as program:
        yield program


@pytest.fixture
def held(holds: TracedHolds, busy: Program) -> Program:
    hold(holds, busy.pid)
    return busy


def ran(pid: int) -> bool:
    before = cpu_clock(pid)
    time.sleep(0.05)
    return cpu_clock(pid) != before


def test_a_held_process_does_not_run_until_it_is_let_go(holds: TracedHolds, held: Program) -> None:
    assert not ran(held.pid)
    let_go(holds, held.pid)
    wait_until(lambda: ran(held.pid))


def test_one_that_sleeps_is_let_be(holds: TracedHolds) -> None:
    with Program("import sys\nprint(flush=True)\nsys.stdin.read()") as sleeper:
        wait_until(lambda: tasks.state(sleeper.pid) == "S")
        assert holds.hold(sleeper.pid, starts(sleeper.pid)) == 0


def test_another_process_with_this_pid_is_let_be(holds: TracedHolds, busy: Program) -> None:
    assert holds.hold(busy.pid, "1") == 0


def states(pid: int) -> list[str]:
    return sorted(tasks.state(tid) for tid in tasks.live_threads(pid) or ())


def test_only_the_threads_that_run_are_held(holds: TracedHolds) -> None:
    with Program(TWO_THREADS) as program:
        wait_until(lambda: states(program.pid) == ["R", "S"])
        hold(holds, program.pid)
        assert states(program.pid) == ["S", "t"]


def test_a_parent_that_waits_for_stops_sees_none(holds: TracedHolds) -> None:
    with Program(PARENT) as parent:
        child = int(parent.first)
        for _ in range(20):
            hold(holds, child)
            let_go(holds, child)
        hold(holds, child)
        os.kill(child, signal.SIGKILL)
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ended\n"


def test_a_stop_that_comes_meanwhile_is_seen_afterwards(holds: TracedHolds) -> None:
    with Program(PARENT) as parent:
        child = int(parent.first)
        hold(holds, child)
        os.kill(child, signal.SIGSTOP)
        let_go(holds, child)
        assert parent.stdout is not None
        assert parent.stdout.readline() == "stopped\n"


def test_a_signal_that_comes_meanwhile_is_handled_afterwards(holds: TracedHolds) -> None:
    with Program(f"{HANDLER}{BUSY}") as program:
        hold(holds, program.pid)
        os.kill(program.pid, signal.SIGUSR1)  # Popen would wait for it
        let_go(holds, program.pid)
        assert program.wait(60) == 7


def test_no_signal_is_lost_whenever_it_comes(holds: TracedHolds) -> None:
    """The kernel may offer a signal to the tracer between seizing and interrupting: it is passed on."""
    text = "import signal\ncount = 0\ndef note(*_):\n    global count; count += 1; print(count, flush=True)\n"
    with Program(f"{text}signal.signal(signal.SIGUSR1, note)\n{BUSY}") as program:
        assert program.stdout is not None
        for number in range(1, 201):
            holds.hold(program.pid, starts(program.pid))
            os.kill(program.pid, signal.SIGUSR1)  # Popen would wait for it
            let_go(holds, program.pid)
            assert program.stdout.readline() == f"{number}\n"


def test_the_threads_of_a_killed_process_are_buried_without_being_let_go(holds: TracedHolds) -> None:
    with Program(PARENT) as parent:
        child = int(parent.first)
        hold(holds, child)
        os.kill(child, signal.SIGKILL)
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ended\n"
        wait_until(lambda: not stat_of(child))


@pytest.mark.parametrize("request_", [traced_holds._SEIZE, traced_holds._INTERRUPT], ids=["seized", "interrupted"])
@pytest.mark.parametrize(
    ("also", "threads"),
    [
        pytest.param(BEGIN + "sys.stdin.read()", 1, id="its leader sleeps"),
        pytest.param(BEGIN + "busy()", 2, id="its leader is held"),
        pytest.param("threading.Thread(target=busy).start(); " + BEGIN + "sys.stdin.read()", 2, id="another is held"),
    ],
)
def test_a_thread_that_executes_a_program_right_before_it_is(
    holds: TracedHolds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, also: str, threads: int, request_: int
) -> None:
    """It goes on when it is let go, though it has another number then, and those that it waits for are buried."""
    go, trace = tmp_path / "go", traced_holds._trace
    with Program(EXECUTES.format(go=str(go), also=also)) as program:
        wait_until(lambda: states(program.pid).count("R") == threads)
        *others, executes = sorted(tasks.live_threads(program.pid) or ())

        def executed(request: int, tid: int, data: int = 0) -> int:
            if (request, tid) == (request_, executes):
                go.touch()
                wait_until(lambda: executes not in (tasks.live_threads(program.pid) or ()) or dead(others))
            return trace(request, tid, data)

        def dead(tids: list[int]) -> bool:
            return any(not tasks.is_live(tid) for tid in tids)

        monkeypatch.setattr(traced_holds, "_trace", executed)
        hold(holds, program.pid)
        assert go.exists()
        let_go(holds, program.pid)
        assert program.stdout is not None
        assert program.stdout.readline() == "executed\n"
        wait_until(lambda: ran(program.pid))
        hold(holds, program.pid)
        assert not ran(program.pid)


@pytest.mark.hostile("a daemon that holds processes is killed")
def test_the_end_of_the_holder_lets_everybody_go_on(busy: Program) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(busy.pid)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"1\n"
        wait_until(lambda: tasks.state(busy.pid) == "t")
        holder.kill()
    wait_until(lambda: ran(busy.pid))
