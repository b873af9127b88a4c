"""`fakecgroup view`: a tree, or a snapshot, as a page."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ..chromium import drawn
from .conftest import Mount, needs_fuse, run


def nodes_of(page: Path) -> dict[str, dict[str, Any]]:
    """The page's cgroups by path."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    nodes: list[dict[str, Any]] = json.loads(found[1])["nodes"]
    return {node["p"]: node for node in nodes}


@needs_fuse
@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_a_tree_is_a_page(layout: str, mount: Mount, tmp_path: Path) -> None:
    tree, page = mount(layout=layout), tmp_path / "page.html"
    if layout == "v2":
        (tree / "cgroup.subtree_control").write_text("+pids +memory")
    for hierarchy in ("pids", "memory") if layout == "v1" else ("",):
        (tree / hierarchy / "a").mkdir()
    (tree / ("pids/a" if layout == "v1" else "a") / "pids.max").write_text("7")
    done = run("view", tree, "-o", page)
    assert (done.returncode, done.stderr) == (0, "")
    node = nodes_of(page)["/a"]
    assert ["pids", "count", 0, 7, 1] in node["m"]
    assert ["pids.max", "7\n", "", "", "", 0] in node["r"]
    assert "memory" in [meter[0] for meter in node["m"]]


@needs_fuse
def test_a_snapshot_is_the_same_page_as_its_tree(mount: Mount, tmp_path: Path) -> None:
    tree = mount()
    (tree / "a").mkdir()
    assert run("snapshot", tree, "-o", tmp_path / "tree.cgs").returncode == 0
    assert run("view", tmp_path / "tree.cgs", "-o", tmp_path / "page.html").returncode == 0
    assert "/a" in nodes_of(tmp_path / "page.html")
    assert 'data-drawn="yes"' in drawn((tmp_path / "page.html").read_text(), tmp_path)


def test_what_is_no_snapshot_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "nonsense").write_text("nonsense")
    done = run("view", tmp_path / "nonsense", "-o", tmp_path / "page.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "page.html").exists()


def test_what_is_no_tree_is_one_line(tmp_path: Path) -> None:
    done = run("view", tmp_path, "-o", tmp_path / "page.html")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@needs_fuse
def test_a_page_that_cannot_be_written_is_one_line(mount: Mount) -> None:
    done = run("view", mount(), "-o", "/nowhere/page.html")
    assert (done.returncode, done.stderr) == (1, "fakecgroup view: -o /nowhere/page.html: No such file or directory\n")
    assert not os.path.exists("/nowhere")
