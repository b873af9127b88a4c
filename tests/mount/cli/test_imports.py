"""A command imports what it needs, and no more: what it imports is most of the time that it takes to start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fakecgroup
import fakecgroup_mount

#: The modules of ours that `--help` needs.
OF_HELP = {
    "fakecgroup_mount",
    "fakecgroup_mount.cli",
    "fakecgroup_mount.cli.program",
    "fakecgroup_mount.errors",
    "fakecgroup_mount.host",
    "fakecgroup_mount.host.procfs",
    "fakecgroup_mount.warm",
}
#: What takes long to import, and few trees need.
LARGE = set(
    "asyncio bz2 dataclasses email gzip hashlib http inspect json lzma platform random secrets shutil subprocess "
    "tarfile tempfile".split()
)
#: Parts of a tree that most live without: simulated processes, faults, traces, snapshots, commands of `ctl`.
SELDOM = (
    *("fakecgroup.faults", "fakecgroup.scenario", "fakecgroup.simulation.world", "fakecgroup.snapshot"),
    *("fakecgroup.trace.assumed", "fakecgroup_mount.control.commands", "fakecgroup_mount.enforce.memory_limits"),
    *("fakecgroup.machine.learnt", "fakecgroup.effects.bandwidth", "fakecgroup.effects.pressure_trigger"),
    *("fakecgroup_mount.fuse.fusepy", "fakecgroup_mount.fuse.traced_requests"),
)
LOADED = """
import sys
before = set(sys.modules)
from fakecgroup_mount.cli import main
try:
    main()
finally:
    print("LOADED", *sys.modules.keys() - before)
"""


def loaded(*arguments: str) -> set[str]:
    """What a command has imported when it has told of its options."""
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_help_imports_the_names_of_the_commands_alone() -> None:
    found = loaded("--help")
    assert {name for name in found if name.startswith("fakecgroup")} == OF_HELP
    assert found.isdisjoint(LARGE | {"ctypes", "dataclasses", "logging", "pathlib", "socket", "threading"})


@pytest.mark.parametrize("command", ["mount", "run"])
def test_a_tree_is_served_without_what_few_trees_need(command: str) -> None:
    assert loaded(command, "--help") & (LARGE | set(SELDOM)) == set()


@pytest.mark.parametrize("module", ["fakecgroup_mount.run.server", "fakecgroup_mount.fuse.serve"])
def test_a_daemon_takes_few_modules_of_python(module: str) -> None:
    """Without site, as an editable installation loads some of them."""
    paths = [str(Path(package.__file__ or "").parents[1]) for package in (fakecgroup, fakecgroup_mount)]
    command = [sys.executable, "-S", "-c", f"import sys, {module}; print(*sys.modules)"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = set(done.stdout.split())
    assert module in found
    assert found & (LARGE | {"copy", "logging", "pathlib", "traceback", "urllib.parse"}) == set()
