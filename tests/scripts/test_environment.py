"""scripts/environment.sh: when .venv has what a script needs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ENVIRONMENT = Path(__file__).resolve().parents[2] / "scripts" / "environment.sh"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose .venv has the extras test and docs."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ENVIRONMENT, tmp_path / "scripts")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to("/bin/true")
    (tmp_path / ".venv" / "installed").write_text("test\ndocs\n")
    return tmp_path


def is_prepared(checkout: Path, extras: str) -> bool:
    script = f"source scripts/environment.sh; prepared .venv/installed {extras}"
    return subprocess.run(["bash", "-c", script], cwd=checkout, check=False).returncode == 0


@pytest.mark.parametrize(
    "extras, prepared", [("run", True), ("test", True), ("docs,test", True), ("check", False), ("test,check", False)]
)
def test_each_extra_that_is_needed_must_be_installed(checkout: Path, extras: str, prepared: bool) -> None:
    assert is_prepared(checkout, extras) == prepared


def test_a_python_that_is_gone_is_not_prepared(checkout: Path) -> None:
    (checkout / ".venv" / "bin" / "python").unlink()
    (checkout / ".venv" / "bin" / "python").symlink_to(checkout / "gone")
    assert not is_prepared(checkout, "run")


def test_another_state_of_pyproject_is_not_prepared(checkout: Path) -> None:
    (checkout / ".venv" / "installed").unlink()
    assert not is_prepared(checkout, "run")


def test_a_program_runs_in_the_directory_that_it_was_called_in(checkout: Path) -> None:
    script = "source ../environment.sh; echo $CALLED_IN; pwd"
    below = checkout / "scripts" / "below"
    below.mkdir()
    done = subprocess.run(["bash", "-c", script], cwd=below, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(below), str(checkout)]
