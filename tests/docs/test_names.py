"""Python that pages show can be imported, and dotted names that they mention are there."""

from __future__ import annotations

import ast
import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`((?:cgroup_engine|fakecgroup_mount|fakecgroup)(?:\.\w+)+)")


def of(page: Path) -> str:
    return str(page.relative_to(DOCS))


def find(name: str) -> object:
    """What a dotted name stands for. Raises ImportError or AttributeError."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[length:], module)
    raise ImportError(name)


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_what_a_page_imports_and_names_is_there(page: Path) -> None:
    text = page.read_text()
    imported = [
        f"{node.module}.{alias.name}"
        for block in _BLOCK.findall(text)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    missing = []
    for name in [*imported, *_NAME.findall(text)]:
        try:
            find(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert missing == []
