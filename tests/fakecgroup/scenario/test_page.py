"""The page of a played scenario."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakecgroup.scenario import Outcome, play, read_scenario
from fakecgroup.scenario.page import LibraryMissingError, page, plotly_js

from ...chromium import drawn

EXAMPLE = Path(__file__).parents[3] / "examples" / "scenarios" / "timeline.yaml"


def _played() -> Outcome:
    return play(read_scenario(EXAMPLE.read_text()), every=1_000_000_000)


def _drawn(outcome: Outcome, folder: Path) -> str:
    """The document that a browser makes of the page of an outcome."""
    return drawn(page(outcome, "a <title>", ["a summary"]), folder)


def _lines_in(document: str) -> int:
    return len(re.findall(r'<g class="trace scatter[^>]*><g[^>]*></g><g[^>]*></g><g class="lines"><path', document))


def test_a_browser_draws_a_line_for_each_cgroup_and_panel(tmp_path: Path) -> None:
    document = _drawn(_played(), tmp_path)
    assert 'data-drawn="yes"' in document
    assert _lines_in(document) == 4 * 3


def test_no_button_of_it_uploads_anything(tmp_path: Path) -> None:
    titles = re.findall(r'data-title="([^"]*)"', _drawn(_played(), tmp_path))
    assert "Zoom in" in titles
    assert [title for title in titles if re.search("share|edit|cloud|upload", title, re.IGNORECASE)] == []


def test_a_browser_draws_fifty_cgroups_over_an_hour(tmp_path: Path) -> None:
    text = "machine: {cpus: 8}\ncgroups:\n" + "".join(f'  pods/p{n}: {{cpu.max: "20000 100000"}}\n' for n in range(50))
    text += "workloads:\n" + "".join(
        f"  - {{cgroup: pods/p{n}, loop: forever, phases: [{{for: {n + 60}s, cpu: 1}}, {{sleep: 3m}}]}}\n"
        for n in range(50)
    )
    outcome = play(read_scenario(text), until=3600 * 1_000_000_000, every=20_000_000_000)
    assert _lines_in(_drawn(outcome, tmp_path)) == 12 * 3


def test_nothing_is_fetched_by_it() -> None:
    text = page(_played(), "x", []).replace(plotly_js(), "")
    assert re.findall(r"(?:src|href)\s*=|https?://|@import|url\(", text) == []
    assert "default-src 'none'" in text


def test_no_text_ends_the_script_that_it_is_in() -> None:
    outcome = play(read_scenario("cgroups: {'</script><script>alert(1)': }"), until=10**9, every=10**9)
    text = page(outcome, "</title><script>", ["</pre><script>"]).replace(plotly_js(), "")
    assert text.count("<script") == 3


def test_the_same_scenario_gives_the_same_page() -> None:
    assert page(_played(), "x", []) == page(_played(), "x", [])


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(LibraryMissingError, match=r"pip install 'fakecgroup\[html\]'"):
        page(Outcome(), "x", [])


def test_the_library_is_not_imported_before_a_page_is_made() -> None:
    code = "import sys, fakecgroup_mount.cli.simulate; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
