"""The plain installation is complete: only `--pods apiserver` takes an extra."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import CHECKOUT, PACKAGES, Environment

NODE: list[str | Path] = ["--config", CHECKOUT / "examples" / "three-pods.kubelet.yaml", "--cpus=4", "--memory=8Gi"]

# Prints each module that cannot be imported; what is for pytest needs pytest.
IMPORT_ALL = f"""
import importlib, pkgutil
for name in {list(PACKAGES)}:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if module.name.startswith(("fakecgroup_mount.testing.", "fakecgroup.conformance.suite")):
            continue
        if module.name.endswith(".__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except Exception as error:
            print(module.name, repr(error))
"""


def test_it_has_no_extras(plain: Environment, tmp_path: Path) -> None:
    """Else the other tests show nothing."""
    for extra in ("kubernetes", "pytest", "urllib3"):
        assert "ModuleNotFoundError" in plain.python("-c", f"import {extra}", cwd=tmp_path).stderr


def test_every_module_is_imported(plain: Environment, tmp_path: Path) -> None:
    done = plain.python("-c", IMPORT_ALL, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["plan", "apply", "run", "status", "explain", "simulate", "exec", "attach", "down"])
def test_each_command_of_the_engine_is_loaded(command: str, plain: Environment, tmp_path: Path) -> None:
    done = plain.command("cgroup-engine", command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_pods_of_an_api_server_need_the_extra(plain: Environment, tmp_path: Path) -> None:
    done = plain.command("cgroup-engine", "explain", *NODE, "--node-name=a", "--pods=apiserver", cwd=tmp_path)
    assert done.returncode == 1
    assert "install the Python package kubernetes" in done.stderr
    assert len(done.stderr.splitlines()) == 1
