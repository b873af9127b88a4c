"""This machine's own cgroup v1, where it has one and the tests may change it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup")


def _usable() -> bool:
    needed = all((ROOT / name / "cgroup.procs").exists() for name in ("cpu", "memory", "pids"))
    return os.geteuid() == 0 and needed and os.access(ROOT / "memory", os.W_OK)


needs_cgroup_v1 = pytest.mark.skipif(not _usable(), reason="needs root and cgroup v1 with cpu, memory and pids")


def remove(name: str) -> None:
    """Removes a cgroup and all below it from every hierarchy."""
    for hierarchy in ROOT.iterdir():
        for directory, _, _ in os.walk(hierarchy / name, topdown=False):
            os.rmdir(directory)
