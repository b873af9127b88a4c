"""A command imports the rooms that it needs, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ONE_SHOT = ("plan", "apply", "status", "explain", "exec", "attach", "down")
#: Rooms and modules of ``run`` alone, and of a systemd that manages the tree.
NOT_NEEDED = ("cgroup_engine.run", "cgroup_engine.sources", "cgroup_engine.change.systemd", "jeepney", "kubernetes")
#: What few commands need of the library, and takes long to import.
LARGE = set(
    "asyncio decimal difflib email http importlib.metadata importlib.resources inotify_simple jeepney kubernetes "
    "logging multiprocessing prometheus_client random selectors socket ssl subprocess tempfile unittest urllib.request "
    "urllib3 uuid xml".split()
)
#: The engine's modules that ``--help`` needs.
OF_HELP = {
    "cgroup_engine",
    "cgroup_engine.cli",
    "cgroup_engine.cli.messages",
    "cgroup_engine.cli.program",
    "cgroup_engine.errors",
    "cgroup_engine.gc_pause",
}
#: Modules of a resize, of manifests without a UID, of systemd, of status and of differences.
NOT_OF_A_PLAN = {
    "cgroup_engine.change",
    "cgroup_engine.inputs.static_pods.dump",
    "cgroup_engine.inputs.static_pods.type_table",
    "cgroup_engine.inputs.static_pods.uid",
    "cgroup_engine.kubelet.resize_checks",
    "cgroup_engine.plan.as_applied",
    "cgroup_engine.plan.down",
    "cgroup_engine.plan.resize",
    "cgroup_engine.plan.status",
    "cgroup_engine.plan.systemd",
    "cgroup_engine.run",
    "cgroup_engine.sources",
    "cgroup_engine.views.explain",
    "cgroup_engine.views.findings",
    "cgroup_engine.views.picture",
}
LOADED = """
import sys
before = set(sys.modules)
from cgroup_engine.cli import main
code = main(sys.argv[1:])
print("LOADED", *sys.modules.keys() - before)
sys.exit(code)
"""


def _loaded(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def _root(directory: Path) -> Path:
    for name, text in {
        "cgroup.controllers": "cpu memory pids",
        "cgroup.subtree_control": "",
        "cgroup.procs": "",
    }.items():
        (directory / name).write_text(text)
    return directory


@pytest.mark.parametrize("command", ONE_SHOT)
def test_a_command_that_ends_loads_nothing_that_follows_pods(command: str) -> None:
    assert _loaded(command, "--help").isdisjoint(NOT_NEEDED)


def test_run_loads_them() -> None:
    assert {"cgroup_engine.run", "cgroup_engine.sources"} <= _loaded("run", "--help")


def test_help_loads_the_names_of_the_commands_alone() -> None:
    loaded = _loaded("--help")
    assert {name for name in loaded if name.startswith("cgroup_engine")} == OF_HELP
    assert loaded.isdisjoint({*LARGE, "ctypes", "dataclasses", "hashlib", "json", "pathlib", "yaml"})


def test_a_plan_of_three_pods_loads_what_it_uses(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    pods = tmp_path / "pods.yaml"
    pods.write_text(yaml.safe_dump_all([make_object(n=n) for n in range(3)]))
    node = ["--cpus", "3", "--memory", "8Gi", "--hugepages", ""]
    loaded = _loaded("plan", "--root", str(_root(tmp_path)), *node, str(pods))
    assert loaded & (LARGE | NOT_OF_A_PLAN) == set()
    assert "cgroup_engine.plan.steps" in loaded


def test_pods_in_json_are_read_without_pyyaml(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    pods = tmp_path / "pods.json"
    pods.write_text(json.dumps({"items": [make_object()], "kind": "List"}))
    assert "yaml" not in _loaded("explain", "--cpus", "3", "--memory", "8Gi", str(pods))
