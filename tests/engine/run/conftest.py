"""Trees that ``run`` keeps in the tests: own cgroups of this machine, and mounted fakes."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .on_host import ROOT, remove

FAKE = [sys.executable, "-c", "import sys; from mount.cli import main; sys.exit(main())"]
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def own_cgroup() -> Iterator[str]:
    """A cgroup of this machine's cpu hierarchy; removed from all of them."""
    name = f"fcg-test-{secrets.token_hex(4)}"
    (ROOT / "cpu" / name).mkdir()
    yield name
    remove(name)


@pytest.fixture
def mounted_fake(fuse: None) -> Iterator[Callable[[str], Path]]:
    """Mounts a fake of a layout; it is unmounted at the end."""
    mounted: list[Path] = []

    def mount(layout: str) -> Path:
        tree = Path(tempfile.mkdtemp(prefix="fakecgroup-run-"))
        arguments = [*FAKE, "mount", str(tree), "--layout", layout, "--cpus", "3", "--memory", "8Gi"]
        subprocess.run(arguments, cwd=REPOSITORY, check=True, capture_output=True, timeout=60)
        mounted.append(tree)
        return tree

    yield mount
    for tree in mounted:
        subprocess.run([*FAKE, "umount", str(tree)], cwd=REPOSITORY, check=True, capture_output=True, timeout=60)
        tree.rmdir()
