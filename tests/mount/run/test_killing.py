"""kill(2) of everybody.

With SIGURG, which nobody minds who does not wait for it: it would reach the whole machine if it left the sandbox.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from .conftest import Sandboxed, said

WAITS = "trap 'echo heard; exit' URG; echo waits; for _ in 1 2 3 4 5 6 7 8; do sleep 0.2; done; echo silence"
EVERYBODY = "sh -c 'kill -s URG -- -1'"


@pytest.fixture
def outside() -> Iterator[subprocess.Popen[str]]:
    """A process that is not in the sandbox."""
    process = subprocess.Popen(["sh", "-c", WAITS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "waits\n"
    yield process
    process.kill()
    process.communicate()


def test_who_signals_everybody_reaches_all_of_the_sandbox_but_itself(sandboxed: Sandboxed) -> None:
    script = f'({WAITS}) & unshare -U sh -c "{WAITS}" & sleep 0.5; {EVERYBODY}; echo $?; wait'
    assert sorted(said(sandboxed(script)).split()) == ["0", "heard", "heard", "waits", "waits"]


def test_who_signals_everybody_reaches_nobody_outside(sandboxed: Sandboxed, outside: subprocess.Popen[str]) -> None:
    said(sandboxed(EVERYBODY))
    with pytest.raises(subprocess.TimeoutExpired):
        outside.wait(0.5)


def test_another_user_does_not_reach_root(root: None, sandboxed: Sandboxed) -> None:
    script = f"({WAITS}) & sleep 0.5; setpriv --reuid 1234 --clear-groups {EVERYBODY}; echo $?; wait"
    assert sorted(said(sandboxed(script)).split()) == ["0", "silence", "waits"]
