"""kill(2) of every process.

The signal is SIGURG, which processes ignore by default. It would reach the whole machine if it left the sandbox.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ...waiting import wait_until
from .conftest import Sandboxed, said

EVERYBODY = "sh -c 'kill -s URG -- -1'"


@pytest.fixture
def listens(tmp_path: Path) -> Callable[[str], str]:
    """A command that prints `heard` at the signal and ends. A file of the given name is there once it listens."""
    script = tmp_path / "listens"
    script.write_text("trap 'echo heard; exit' URG\necho listens\n: >\"$1\"\nwhile :; do sleep 0.1; done\n")
    tmp_path.chmod(0o777)
    return lambda name: f"sh {script} {tmp_path / name}"


@pytest.fixture
def listening(tmp_path: Path) -> Callable[..., str]:
    """A command that waits for files of these names."""
    return lambda *names: f"until {' && '.join(f'[ -e {tmp_path / name} ]' for name in names)}; do sleep 0.1; done"


def test_a_signal_to_every_process_reaches_all_of_the_sandbox_but_the_sender(
    sandboxed: Sandboxed, listens: Callable[[str], str], listening: Callable[..., str]
) -> None:
    script = f"{listens('a')} & unshare -U {listens('b')} & {listening('a', 'b')}; {EVERYBODY}; echo $?; wait"
    assert sorted(said(sandboxed(script)).split()) == ["0", "heard", "heard", "listens", "listens"]


def test_a_signal_to_every_process_reaches_none_outside(
    sandboxed: Sandboxed, tmp_path: Path, listens: Callable[[str], str]
) -> None:
    with subprocess.Popen(listens("outside").split(), stdout=subprocess.PIPE, text=True) as outside:
        try:
            wait_until((tmp_path / "outside").exists)
            said(sandboxed(EVERYBODY))
            with pytest.raises(subprocess.TimeoutExpired):
                outside.wait(0.5)
        finally:
            outside.kill()


def test_another_user_does_not_reach_root(
    root: None, sandboxed: Sandboxed, listens: Callable[[str], str], listening: Callable[..., str]
) -> None:
    stranger = f"setpriv --reuid 1234 --clear-groups {EVERYBODY}; echo $?"
    script = f"{listens('a')} & {listening('a')}; {stranger}; sleep 0.5; kill $! && echo lives; wait"
    assert sorted(said(sandboxed(script)).split()) == ["0", "listens", "lives"]
