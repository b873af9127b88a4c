"""A command imports the rooms that it needs, and no more."""

from __future__ import annotations

import subprocess
import sys

import pytest

ONE_SHOT = ("plan", "apply", "status", "explain", "exec", "attach", "down")
#: Rooms and modules of ``run`` alone, and of a systemd that manages the tree.
NOT_NEEDED = ("cgroup_engine.run", "cgroup_engine.sources", "cgroup_engine.change.systemd", "jeepney", "kubernetes")
LOADED = """
import sys
from cgroup_engine.cli import main
code = main([sys.argv[1], "--help"])
print("LOADED", *sys.modules)
sys.exit(code)
"""


def _loaded(command: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, command], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize("command", ONE_SHOT)
def test_a_command_that_ends_loads_nothing_that_follows_pods(command: str) -> None:
    assert _loaded(command).isdisjoint(NOT_NEEDED)


def test_run_loads_them() -> None:
    assert {"cgroup_engine.run", "cgroup_engine.sources"} <= _loaded("run")
