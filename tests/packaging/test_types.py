"""A project that uses the installed packages sees their types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Environment

USER = """\
from fakecgroup import Kernel
from fakecgroup_mount.errors import MountError
from cgroup_engine.errors import EngineError

kernel = Kernel(layout="v2", kernel="6.12")
kernel.mkdir("/app")
shown: str = kernel.read("/app/cgroup.procs")


def why(error: MountError | EngineError) -> str:
    return str(error)
"""


def checked(project: Path, environment: Environment, text: str) -> list[str]:
    """What mypy says of a module that uses the environment's packages."""
    pytest.importorskip("mypy", reason="takes mypy: the extra check")
    (project / "user.py").write_text(text)
    options = ["--strict", "--no-error-summary", "--cache-dir", str(project / "cache")]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--python-executable", environment.interpreter, "user.py"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_what_is_right_passes_strictly(plain: Environment, tmp_path: Path) -> None:
    assert checked(tmp_path, plain, USER) == []


def test_what_is_wrong_is_told(plain: Environment, tmp_path: Path) -> None:
    (said,) = checked(tmp_path, plain, USER.replace("shown: str", "shown: int"))
    assert 'expression has type "str", variable has type "int"' in said
