"""The examples of docs/guides/tests.md, each with its own tool if that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import REPOSITORY, needs_fuse

EXAMPLES = REPOSITORY / "examples" / "testing"

Recipe = Callable[..., str]


@pytest.fixture
def recipe(fuse: None, state_home: Path, tmp_path: Path) -> Recipe:
    """Runs a command in one of the examples; returns its output once it has succeeded."""

    def run(directory: str, *command: str, **environment: str) -> str:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        if shutil.which(command[0], path=path) is None:
            pytest.skip(f"no {command[0]} here")
        done = subprocess.run(
            command,
            cwd=EXAMPLES / directory,
            env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=110,
            check=False,
        )
        if "fakecgroup run: cannot make a user namespace" in done.stdout:
            pytest.skip(done.stdout)
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


@needs_fuse
def test_pytest_in_parallel(recipe: Recipe, tmp_path: Path) -> None:
    options = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    said = recipe(".", sys.executable, "-m", "pytest", "-n", "2", *options, "test_example.py", FAKECGROUP_REQUIRE="1")
    assert "10 passed" in said
    assert not list(tmp_path.glob("fakecgroup-*"))


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_go(recipe: Recipe, layout: str) -> None:
    said = recipe("go", "go", "test", "-count=1", "-v", "-exec", f"fakecgroup run --layout {layout} --", "./...")
    assert said.count("--- PASS") == 2


def test_go_skips_outside(recipe: Recipe) -> None:
    assert "skipped: run with" in recipe("go", "go", "test", "-count=1", "-v", "./...")


def test_cargo(recipe: Recipe, tmp_path: Path) -> None:
    assert "2 passed" in recipe("rust", "cargo", "test", "--offline", CARGO_TARGET_DIR=str(tmp_path))


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_bats(recipe: Recipe, layout: str) -> None:
    if shutil.which("bats") is None:
        pytest.skip("no bats here")
    said = recipe("shell", "fakecgroup", "run", "--layout", layout, "--", "bats", "limit.bats")
    assert said.count("\nok ") == 3 and "skip" not in said
