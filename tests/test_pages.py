"""What the pages say: files, tests and links that are there, sessions that run."""

from __future__ import annotations

import ast
import doctest
import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGES = [
    *sorted(REPOSITORY.glob("*.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted((REPOSITORY / "deploy").rglob("*.md")),
    *sorted((REPOSITORY / "examples").rglob("*.md")),
]
OTHERS = {"tests/integration"}  # a directory of runc's
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FILE = re.compile(r"(?<![\w./-])((?:docs|engine|examples|fakecgroup|mount|scripts|tests|deploy)/[\w./-]*\w)")
_TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+(?:::\w+)?)")
_LISTS = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(REPOSITORY)) for page in pages]


every_page = pytest.mark.parametrize("page", PAGES, ids=names(PAGES))


@cache
def anchors(page: Path) -> set[str]:
    """The fragments that lead to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def defined_in(file: Path) -> set[str]:
    """`function` and `Class::function` of a file of tests."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)} | {node.name}
    return found


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in _LINK.findall(page.read_text()):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_readme_leads_to_every_page_of_docs() -> None:
    """By way of docs/index.md and the lists of pages (toctree) there."""
    links = set(_LINK.findall((REPOSITORY / "README.md").read_text()))
    assert "docs/index.md" in links
    docs = REPOSITORY / "docs"
    reached: set[Path] = set()
    ahead = [docs / "index.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        listed = "\n".join(_LISTS.findall(page.read_text())).splitlines()
        ahead += [page.parent / f"{name}.md" for name in listed if name and not name.startswith(":")]
    assert sorted(set(docs.rglob("*.md")) - reached) == []


@every_page
def test_files_that_are_named_are_there(page: Path) -> None:
    text = re.sub(r"https?://\S+", "", page.read_text())
    assert sorted({name for name in _FILE.findall(text) if not (REPOSITORY / name).exists()} - OTHERS) == []


@every_page
def test_tests_that_are_named_are_there(page: Path) -> None:
    named = _TEST.findall(page.read_text())
    assert [f"{file}::{test}" for file, test in named if test not in defined_in(REPOSITORY / file)] == []


WITH_SESSIONS = [page for page in PAGES if "```pycon" in page.read_text()]


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=names(WITH_SESSIONS))
def test_a_python_session_runs_as_it_is_shown(page: Path) -> None:
    session = "\n".join(_SESSION.findall(page.read_text()))
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert said == []
