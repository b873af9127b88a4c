"""What the commands print, where it cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "three-pods.yaml"
MAIN = "import sys; from cgroup_engine.cli import main; sys.exit(main())"
COMMAND = (sys.executable, "-c", MAIN, "explain", "--cpus=3", "--memory=8Gi", str(EXAMPLE))


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told_in_one_line(unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            COMMAND,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (1, "cgroup-engine: standard output: No space left on device\n")
