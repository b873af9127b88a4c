"""The surroundings of ``run`` in tests: own cgroups of this machine, mounted fakes, a clock that is set by hand."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cgroup_engine.run.health import Health

from .on_host import ROOT, remove

FAKE = [sys.executable, "-c", "import sys; from fakecgroup_mount.cli.program import main; sys.exit(main())"]
REPOSITORY = Path(__file__).parents[3]


class Clock:
    """Seconds, as a test sets them."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(clock)


@pytest.fixture
def own_cgroup() -> Iterator[str]:
    """A cgroup of this machine's cpu hierarchy; removed from all of them."""
    name = f"fcg-test-{secrets.token_hex(4)}"
    (ROOT / "cpu" / name).mkdir()
    yield name
    remove(name)


def _fakecgroup(*arguments: str) -> None:
    done = subprocess.run([*FAKE, *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def _mount(tree: Path, layout: str) -> None:
    _fakecgroup("mount", str(tree), "--layout", layout, "--cpus", "3", "--memory", "8Gi")


@pytest.fixture
def mounted_fake(fuse: None) -> Iterator[Callable[[str], Path]]:
    """Mounts a fake of a layout; it is unmounted at the end."""
    mounted: list[Path] = []

    def mount(layout: str) -> Path:
        tree = Path(tempfile.mkdtemp(prefix="fakecgroup-run-"))
        _mount(tree, layout)
        mounted.append(tree)
        return tree

    yield mount
    for tree in mounted:
        _fakecgroup("umount", str(tree))
        tree.rmdir()


@pytest.fixture
def remount() -> Callable[..., None]:
    """Unmounts a fake although somebody uses it, waits, and mounts another one in its place."""
    if os.geteuid() != 0:
        pytest.skip("takes root")

    def again(tree: Path, layout: str, before: Callable[[], object]) -> None:
        subprocess.run(["umount", "--lazy", str(tree)], check=True)
        before()
        _mount(tree, layout)

    return again
