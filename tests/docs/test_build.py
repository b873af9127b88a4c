"""scripts/docs keeps what is not its own. That the site builds without a warning is tried by .ci/run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("shtab")
build = pytest.importorskip("documentation.build", reason="no Sphinx here: scripts/docs installs it")


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years")
    with pytest.raises(ValueError, match="has other files in it"):
        build.build(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "three years"


@pytest.mark.parametrize("tag", ['<script src="https://cdn/x.js">', '<link rel="icon" href="//cdn/x.ico">'])
def test_what_a_page_loads_from_elsewhere_is_found(tag: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f'<a href="https://kernel.org">a link is fine</a>{tag}')
    assert [page for page, _ in build.foreign(tmp_path)] == ["index.html"]


def test_pages_with_own_files_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<script src="_static/x.js"></script><a href="https://kernel.org">a link</a>')
    assert build.foreign(tmp_path) == []
