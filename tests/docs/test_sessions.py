"""The sessions of the first page and of the tutorials print what the pages show."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from .sessions import Step, run, steps

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/tutorials/first-tree.md",
    "docs/tutorials/first-plan.md",
    "docs/guides/mount.md",
    "docs/guides/warm.md",
    "docs/guides/faults.md",
    "docs/guides/trace.md",
    "docs/guides/view.md",
    "docs/guides/fleet.md",
    "docs/guides/simulate.md",
    "docs/guides/snapshot.md",
    "docs/guides/pods.md",
    "docs/guides/conformance.md",
    "docs/tutorials/four-kernels.md",
    "docs/tutorials/ebusy.md",
]
CONTAINERS = ("docs/tutorials/four-kernels.md", "docs/tutorials/ebusy.md")
"""Pages that root types, where these programs are."""
PROGRAMS = ("crun", "runc", "busybox")


@pytest.mark.usefixtures("fuse", "state_home")
@pytest.mark.parametrize("page", PAGES)
def test_a_session_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    if page in CONTAINERS and (os.geteuid() or not all(map(shutil.which, PROGRAMS))):
        pytest.skip(f"{', '.join(PROGRAMS)}: one is not here, or this is not root")
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    session = steps((REPOSITORY / page).read_text())
    assert session
    commands = [step.command for step in session]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    try:
        printed = run(commands, tmp_path, {"PATH": path, "LC_ALL": "C.UTF-8"})
    finally:
        run(["fakecgroup umount --force cg"], tmp_path, {"PATH": path})
    if any("cannot make a user namespace" in said for said in printed):
        pytest.skip("no user namespaces")
    different = [(step.command, said) for step, said in zip(session, printed, strict=True) if not step.fits(said)]
    assert different == []


def test_a_line_of_dots_stands_for_any_lines() -> None:
    assert Step("ls", "a\n...\nz\n").fits("a\nb\nc\nz\n")
    assert not Step("ls", "a\n...\nz\n").fits("a\nb\n")
    assert not Step("ls", "a\n").fits("a\nb\n")
