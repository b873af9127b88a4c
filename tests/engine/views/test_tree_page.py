"""`explain --html` and `status --html`: the tree as a page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main

from ...chromium import drawn

EXAMPLES = Path(__file__).parents[3] / "examples"
NODE = ("--config", str(EXAMPLES / "three-pods.kubelet.yaml"), "--cpus=3", "--memory=8Gi")
PODS = str(EXAMPLES / "three-pods.yaml")


def nodes_of(page: Path) -> dict[str, dict[str, Any]]:
    """The page's cgroups by path."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    nodes: list[dict[str, Any]] = json.loads(found[1])["nodes"]
    return {node["p"]: node for node in nodes}


def explained(page: Path, *options: str) -> dict[str, dict[str, Any]]:
    assert main(["explain", *NODE, *options, "--html", str(page), PODS]) == 0
    return nodes_of(page)


def test_each_wanted_value_has_its_reason(tmp_path: Path) -> None:
    nodes = explained(tmp_path / "page.html")
    rows = {row[0]: row for row in nodes["/kubepods"]["r"]}
    file, text, _, why, source, differs = rows["cpu.weight"]
    assert (file, differs) == ("cpu.weight", 0)
    assert text.isdecimal()
    assert why
    assert "kubelet" in source or "(" in source


def test_a_pod_without_a_limit_is_bound_by_what_is_above(tmp_path: Path) -> None:
    nodes = list(explained(tmp_path / "page.html").values())
    (besteffort,) = [node for node in nodes if "/besteffort/pod" in node["p"] and node["p"].count("/") == 3]
    (memory,) = [meter for meter in besteffort["m"] if meter[0] == "memory"]
    assert memory[3] is None
    binding = nodes[memory[4]]
    assert besteffort["p"].startswith(f"{binding['p']}/")
    assert any(meter[0] == "memory" and meter[3] for meter in binding["m"])


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_what_was_found_stands_beside_what_is_wanted(
    layout: str, mounted: Callable[[str], Path], tmp_path: Path
) -> None:
    root, page = mounted(layout), tmp_path / "page.html"
    assert main(["apply", "--root", str(root), *NODE, PODS]) == 0
    knob = root / ("kubepods/cpu.weight" if layout == "v2" else "cpu/kubepods/cpu.shares")
    knob.write_text("7")
    try:
        assert main(["status", "--root", str(root), *NODE, "--html", str(page), PODS]) == 0
    finally:
        main(["down", "--root", str(root), *NODE])
    kubepods = nodes_of(page)["/kubepods"]
    (row,) = [row for row in kubepods["r"] if row[0] == knob.name]
    assert row[1] == "7"
    assert row[2].isdecimal() and row[2] != "7"
    assert row[3]
    assert row[5] == 1
    assert kubepods["a"] == ["1 not as wanted"]
    assert kubepods["t"] == 0


def test_what_is_missing_needs_a_look(mounted: Callable[[str], Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["status", "--root", str(mounted("v2")), *NODE, "--html", str(page), PODS]) == 0
    assert nodes_of(page)["/kubepods"]["a"] == ["missing"]


def test_a_browser_shows_it(tmp_path: Path) -> None:
    explained(tmp_path / "a.html")
    document = drawn((tmp_path / "a.html").read_text(), tmp_path, "#%2Fkubepods")
    assert 'data-drawn="yes"' in document
    assert "<h2>/kubepods</h2>" in document


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *NODE, "--html", str(tmp_path / "no" / "page.html"), PODS]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_nothing_of_the_fake_is_loaded_without_a_page() -> None:
    code = "import sys, cgroup_engine.cli.explain, cgroup_engine.cli.status; sys.exit('fakecgroup' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
