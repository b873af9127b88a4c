"""The front does not stop when the command freezes its own cgroup."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from ...waiting import wait_until
from ..conftest import COMMAND, REPOSITORY, is_alive
from .conftest import Sandboxed, said

THAWED_BY_ANOTHER = """
cd /sys/fs/cgroup; mkdir a
(until grep -q 'frozen 1' a/cgroup.events; do sleep 0.05; done; echo 0 >a/cgroup.freeze) &
echo $$ >a/cgroup.procs; echo 1 >a/cgroup.freeze; echo thawed
"""


def test_a_command_that_was_frozen_goes_on_and_ends(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(THAWED_BY_ANOTHER)) == "thawed\n"


@pytest.mark.hostile("a command puts what waits for it into a frozen cgroup")
def test_the_front_is_never_frozen(sandboxed: Sandboxed) -> None:
    done = sandboxed("cd /sys/fs/cgroup; mkdir a; echo $PPID >a/cgroup.procs; echo 1 >a/cgroup.freeze; exit 7")
    assert done.returncode == 7


@pytest.mark.hostile("Ctrl-C at a command that has frozen itself")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_end_ends_a_frozen_command(sandboxed: Sandboxed, number: signal.Signals) -> None:
    script = "cd /sys/fs/cgroup; mkdir a; echo $$ >a/cgroup.procs; echo $$; echo 1 >a/cgroup.freeze; echo no"
    with subprocess.Popen(
        [*COMMAND, "run", "--", "sh", "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as front:
        try:
            assert front.stdout is not None
            command = int(front.stdout.readline())
            wait_until(lambda: is_stopped(command))
            front.send_signal(number)
            said: tuple[str, str | None] = front.communicate(timeout=60)
            assert said == ("", None)
            assert front.returncode == 128 + number
            assert not is_alive(command)
        finally:
            front.kill()


def is_stopped(pid: int) -> bool:
    return "\nState:\tT" in Path(f"/proc/{pid}/status").read_text()
