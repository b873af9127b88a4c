"""cpu.max acts on real processes (`run --enforce cpu`). Nobody but /proc/PID/stat tells that they are held."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ...waiting import wait_until
from ..conftest import COMMAND, REPOSITORY
from .conftest import Sandboxed, said

BEGIN = """
set -e; cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '1000 1000000' >a/cpu.max
(echo 0 >a/cgroup.procs; while :; do :; done) & busy=$!
is() { for i in $(seq 500); do [ $(cut -d' ' -f3 /proc/$busy/stat) = $1 ] && return; sleep 0.02; done; echo never $1; }
is t
"""

WAITS_FOR_STOPS = """
import os, signal, sys, time
child = os.fork()
if not child:
    open("/sys/fs/cgroup/a/cgroup.procs", "w").write("0")
    while True: pass
until = time.monotonic() + 100
while "nr_throttled 3" not in open("/sys/fs/cgroup/a/cpu.stat").read() and time.monotonic() < until:
    found = os.waitpid(child, os.WUNTRACED | os.WNOHANG)
    if found[0]: print("seen", found)
    time.sleep(0.001)
os.kill(child, signal.SIGSTOP)
print("stopped" if os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]) else "ended")
os.kill(child, signal.SIGKILL)
"""
ATTACHES = """
import ctypes, os, sys
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ATTACH, DETACH = 16, 17
pid = int(sys.argv[1])
for _ in range(10):
    attached = ptrace(ATTACH, pid, 0, 0)
    print(attached, os.waitpid(pid, 0)[1] >> 8, ptrace(DETACH, pid, 0, 0))
"""


def test_a_process_that_has_used_its_quota_is_stopped_and_counted(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} until grep -q 'nr_throttled [1-9]' a/cpu.stat; do sleep 0.02; done; echo counted; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == "counted\n"


POLL = """
import os, select
for path in ("a/cpu.pressure", "/proc/pressure/cpu"):
    file = os.open(path, os.O_RDWR); os.write(file, b"some 150000 1000000\\0")
    poll = select.poll(); poll.register(file, select.POLLPRI); print([mask for _, mask in poll.poll(60000)])
"""


def test_who_polls_for_pressure_is_woken_while_it_waits(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} '{sys.executable}' -S -E -c '{POLL}'; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == "[2]\n[2]\n"


def test_without_a_quota_it_goes_on(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} echo max >a/cpu.max; is R; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == ""


def test_in_another_cgroup_it_goes_on(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} mkdir b; echo $busy >b/cgroup.procs; is R; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == ""


def test_frozen_it_does_not_go_on_with_the_next_period(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo 1 >a/cgroup.freeze; echo max >a/cpu.max; sleep 0.2; is T
        echo 0 >a/cgroup.freeze; is R; kill -9 $busy"""
    assert said(sandboxed(script, enforce="cpu")) == ""


# A thread that is not the leader executes the program again, 20 times; the last one is busy for ever.
EXECUTES = """
import os, sys, threading, time
left = int(sys.argv[1])
if left == 20: open("/sys/fs/cgroup/a/cgroup.procs", "w").write("0")
def execute():
    while time.process_time() < (20 - left) * 0.03: pass
    os.execv(sys.executable, [sys.executable, "-S", "-E", sys.argv[2], str(left - 1), sys.argv[2]])
if left:
    threading.Thread(target=execute).start()
    time.sleep(1000)
print("executed", flush=True)
while True: pass
"""


def test_a_thread_that_executes_a_program_while_it_is_throttled_goes_on_and_is_counted(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    (tmp_path / "executes").write_text(EXECUTES)
    program = f"'{sys.executable}' -S -E '{tmp_path}/executes' 20 '{tmp_path}/executes'"
    script = f"""
        set -e; cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '5000 10000' >a/cpu.max
        mkfifo /tmp/$$.done; {program} >/tmp/$$.done & busy=$!; head -1 /tmp/$$.done; rm /tmp/$$.done
        used() {{ sed -n "s/^$1 //p" a/cpu.stat; }}
        [ $(used usage_usec) -ge 550000 ] && echo counted; before=$(used nr_throttled)
        until [ $(used nr_throttled) -gt $((before + 3)) ]; do sleep 0.02; done; echo throttled
        cat a/cgroup.procs | grep -cx $busy; kill -9 $busy"""
    assert said(sandboxed(script, enforce="cpu")).split() == ["executed", "counted", "throttled", "1"]


def test_a_limit_above_counts_too(sandboxed: Sandboxed) -> None:
    script = """
        set -e; cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '1000 1000000' >a/cpu.max; mkdir a/b
        (echo 0 >a/b/cgroup.procs; while :; do :; done) & busy=$!
        until [ $(cut -d' ' -f3 /proc/$busy/stat) = t ]; do sleep 0.02; done; kill -9 $busy"""
    assert said(sandboxed(script, enforce="cpu")) == ""


def test_a_parent_that_waits_for_stops_sees_only_those_of_others(sandboxed: Sandboxed) -> None:
    script = f"""
        set -e; cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '1000 10000' >a/cpu.max
        '{sys.executable}' -S -c '{WAITS_FOR_STOPS}'"""
    assert said(sandboxed(script, enforce="cpu")) == "stopped\n"


def test_a_held_process_can_be_traced(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} '{sys.executable}' -S -c '{ATTACHES}' $busy; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")).splitlines() == [f"0 {signal.SIGSTOP.value} 0"] * 10


class Terminal:
    """An interactive shell under `run --enforce cpu` in a terminal of its own."""

    def __init__(self) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(REPOSITORY)
            shell = ["bash", "--norc", "--noprofile", "-i"]
            os.execvp(COMMAND[0], [*COMMAND, "run", "--enforce", "cpu", "--", "env", "PS1=now> ", *shell])
        self._text = ""

    def say(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def hear(self, pattern: str) -> str:
        """What the shell says from now on until it has said something that matches."""

        def heard() -> str:
            self._text += os.read(self._fd, 4096).decode(errors="replace")
            return self._text if re.search(pattern, self._text) else ""

        text, self._text = wait_until(heard), ""
        return text

    def in_front(self) -> int:
        """The process group that gets what is typed."""
        return os.tcgetpgrp(self._fd)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(fuse: None, state_home: object) -> Iterator[Terminal]:
    terminal = Terminal()
    terminal.hear("now> ")
    yield terminal
    terminal.end()


def test_a_shell_keeps_its_terminal_while_its_job_is_held_and_ctrl_z_stops_the_job(terminal: Terminal) -> None:
    terminal.say(
        "cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo 1000 10000 >a/cpu.max; "
        "job() { (echo 0 >a/cgroup.procs; while :; do :; done); }; echo do''ne\n"
    )
    terminal.hear("done\r\n(.*\n)*.*now> ")
    terminal.say("(until grep -q 'nr_throttled 5' a/cpu.stat; do sleep 0.01; done; echo throt''tled) & job\n")
    before = terminal.hear("throttled\r\n")
    terminal.say("\x1a")
    stopped = terminal.hear("Stopped.*\r\n(.*\n)*.*now> ")
    shell = terminal.in_front()
    terminal.say("fg; echo en''ded\n")
    wait_until(lambda: terminal.in_front() != shell)
    terminal.say("\x03")
    terminal.hear("ended|now> $")
    assert ("Stopped" in before, "Stopped" in stopped) == (False, True)


COMPETE = """
import os, signal, time
CGROUP, WEIGHTS = "/sys/fs/cgroup/", (100, 300, 600)
open(CGROUP + "cgroup.subtree_control", "w").write("+cpu")
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
children = []
for weight in WEIGHTS:
    os.mkdir(f"{CGROUP}{weight}")
    open(f"{CGROUP}{weight}/cpu.weight", "w").write(str(weight))
    children.append(os.fork())
    if not children[-1]:
        open(f"{CGROUP}{weight}/cgroup.procs", "w").write("0")
        while True: pass
def used():
    return [int(open(f"{CGROUP}{weight}/cpu.stat").readline().split()[1]) for weight in WEIGHTS]
until = time.monotonic() + 80
while min(used()) < 50_000 and time.monotonic() < until: time.sleep(0.1)
before = used()
while sum(used()) - sum(before) < 5_000_000 and time.monotonic() < until: time.sleep(0.1)
grown = [after - first for first, after in zip(before, used())]
for child in children: os.kill(child, signal.SIGKILL)
print(*(part / sum(grown) for part in grown))
print(*(int(open(f"{CGROUP}{weight}/cpu.pressure").readline().split("total=")[1]) > 1_000_000 for weight in WEIGHTS))
"""


def test_busy_groups_share_a_cpu_by_their_weights_and_those_that_wait_are_under_pressure(sandboxed: Sandboxed) -> None:
    parts, pressed = said(sandboxed(f"'{sys.executable}' -S -c '{COMPETE}'", enforce="cpu")).splitlines()
    assert [float(part) for part in parts.split()] == pytest.approx([0.1, 0.3, 0.6], rel=0.2)
    assert pressed == "True True True"
