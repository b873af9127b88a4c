"""Each way to install the project gives the packages, their data and the commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import CHECKOUT, PACKAGES, Environment

VERSION = re.search(r'^version = "(.*)"$', (CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE)[1]  # type: ignore[index]
THREE_PODS = (
    "--config",
    CHECKOUT / "examples" / "three-pods.kubelet.yaml",
    "--cpus=4",
    "--memory=8Gi",
    CHECKOUT / "examples" / "three-pods.yaml",
)


def test_the_packages_are_imported(installed: Environment, tmp_path: Path) -> None:
    done = installed.python("-c", f"import {', '.join(PACKAGES)}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_package_has_a_name_that_others_use(installed: Environment, tmp_path: Path) -> None:
    script = "from importlib.util import find_spec; print([n for n in ('engine', 'mount', 'tests') if find_spec(n)])"
    assert installed.python("-c", script, cwd=tmp_path).stdout == "[]\n"


def test_the_kernels_answers_come_along(installed: Environment, tmp_path: Path) -> None:
    options = ["--target=model", "--family=pids", "--kernel=6.12"]
    done = installed.command("fakecgroup", "conformance", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pods_are_explained(installed: Environment, tmp_path: Path) -> None:
    done = installed.command("cgroup-engine", "explain", *THREE_PODS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kubepods" in done.stdout


@pytest.mark.parametrize("command", ["fakecgroup", "cgroup-engine"])
def test_a_command_says_what_it_is_for(command: str, installed: Environment, tmp_path: Path) -> None:
    done = installed.command(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {command} ")


@pytest.mark.parametrize("command", ["fakecgroup", "cgroup-engine"])
def test_a_command_says_its_version(command: str, installed: Environment, tmp_path: Path) -> None:
    done = installed.command(command, "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{command} {VERSION}\n", "")


def test_all_that_it_depends_on_is_declared(installed: Environment) -> None:
    assert installed.pip("check") == "No broken requirements found.\n"
