"""A project with own packages `engine`, `mount`, `conformance` and `tests` keeps them, and has our fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Environment

OWN = ("engine", "mount", "conformance")
TEST = """\
from pathlib import Path

import conformance
import engine
import mount
import mount.cli
import pytest


def test_its_packages_are_the_projects():
    assert [module.WHOSE for module in (conformance, engine, mount, mount.cli)] == ["the project"] * 4


@pytest.mark.cgroupfs(layout=["v2", "v1"], kernel="6.1")
def test_a_model_is_there(cgroup_kernel):
    assert cgroup_kernel.listdir("/")


@pytest.mark.cgroupfs(layout="v1", kernel="6.1")
def test_a_tree_is_mounted(cgroupfs):
    (cgroupfs / "cpu" / "app").mkdir()
    (cgroupfs / "cpu" / "app" / "cpu.shares").write_text("1")
    assert (cgroupfs / "cpu" / "app" / "cpu.shares").read_text() == "2\\n"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages of these names, and tests that use the fixtures."""
    for name in (*OWN, "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('WHOSE = "the project"\n')
    (tmp_path / "mount" / "cli.py").write_text('WHOSE = "the project"\n')
    (tmp_path / "tests" / "test_it.py").write_text(TEST)
    return tmp_path


@pytest.mark.usefixtures("fuse")
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_the_plugin_works_beside_them(mode: str, with_pytest: Environment, project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    done = with_pytest.python("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--import-mode={mode}", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("4 passed")


def test_the_commands_work_beside_them(plain: Environment, project: Path) -> None:
    done = plain.command("fakecgroup", "conformance", "--family=pids", "--kernel=6.12", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
