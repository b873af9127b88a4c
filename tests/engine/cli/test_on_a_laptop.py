"""Commands that only compute work without the modules of Linux, and without the libraries of ``run``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "three-pods.yaml"
NODE = ["--cpus", "3", "--memory", "8Gi", "--swap", "0", "--max-pids", "32768", "--hugepages", ""]
HIDING = """
import sys
for name in "fcntl grp pwd resource termios inotify_simple jeepney kubernetes prometheus_client fuse".split():
    sys.modules[name] = None
from cgroup_engine.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "command", [["--help"], ["explain", *NODE], ["plan", "--from", str(EXAMPLE), *NODE]], ids=" ".join
)
def test_a_command_runs_without_them(command: list[str]) -> None:
    words = command if command == ["--help"] else [*command, str(EXAMPLE)]
    done = subprocess.run([sys.executable, "-c", HIDING, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_needs_one_of_them_does_not_run_without() -> None:
    done = subprocess.run([sys.executable, "-c", HIDING, "run", "--help"], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in done.stderr
