"""Logging is loaded when there is something to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TELLS = """
import sys, threading
from fakecgroup_mount.host.log import Log, log_to
from pathlib import Path

log_to(Path(sys.argv[1]))
log = Log("name")
print("logging" in sys.modules)
"""


def said(code: str, file: Path) -> tuple[str, str]:
    """What a program prints, and what it logs."""
    command = [sys.executable, "-c", TELLS + code, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout, file.read_text() if file.exists() else ""


def test_who_says_nothing_loads_no_logging(tmp_path: Path) -> None:
    assert said("", tmp_path / "log") == ("False\n", "")


@pytest.mark.parametrize(
    ("code", "logged"),
    [
        ("log.warning('%d of %s', 2, 'two')", "name: 2 of two\n"),
        ("log.error('a failure')", "name: a failure\n"),
        ("try: 1 / 0\nexcept ZeroDivisionError: log.exception('a bug')", "ZeroDivisionError: division by zero\n"),
        ("thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()", "ZeroDivisionError: "),
    ],
)
def test_a_message_is_logged_with_its_exception(code: str, logged: str, tmp_path: Path) -> None:
    assert logged in said(code, tmp_path / "log")[1]


def test_one_place_is_told_from_another(tmp_path: Path) -> None:
    _, logged = said("for _ in range(9): log.error('here')\nlog.error('there')", tmp_path / "log")
    assert [line.rpartition(": ")[2] for line in logged.splitlines()] == ["here", "there"]


def test_where_logging_cannot_be_loaded_the_message_is_lost(tmp_path: Path) -> None:
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"
    assert said(f"{few}\nlog.error('no descriptor')\nprint('on')", tmp_path / "log") == ("False\non\n", "")
