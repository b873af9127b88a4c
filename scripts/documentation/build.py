"""Builds the site, the man pages and the completions below one folder."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from .command_line import COMPLETED
from .completions import FILES, completion

SOURCE = Path(__file__).resolve().parents[2] / "docs"


def build(target: Path) -> int:
    """Makes TARGET anew: index.html with what belongs to it, man/ and completions/. Returns 0, or 1 after a warning.

    Raises ValueError where TARGET is a folder with something else in it.
    """
    there = {path.name for path in target.iterdir()} if target.exists() else set()
    if there and not there & {"index.html", ".doctrees"}:  # a site, or one whose build has failed
        raise ValueError(f"{target} has other files in it")
    shutil.rmtree(target, ignore_errors=True)
    read = target / ".doctrees"
    if _sphinx("html", target, read) or _sphinx("man", target / "man", read):
        return 1
    shutil.rmtree(read)
    for program in COMPLETED:
        for shell, name in FILES.items():
            file = target / "completions" / shell / name.format(program)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(completion(program, shell), encoding="utf-8")
    loaded = foreign(target)
    for page, asset in loaded:
        print(f"docs: {page} loads {asset}", file=sys.stderr)
    return int(bool(loaded))


def foreign(target: Path) -> list[tuple[str, str]]:
    """What pages load from elsewhere, so that they would not work from disk."""
    found = []
    for page in target.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text(encoding="utf-8")):
            found += [(page.name, asset) for asset in re.findall(r'(?:src|href)="((?:https?:)?//[^"]*)"', tag)]
    return found


def _sphinx(builder: str, target: Path, read: Path) -> int:
    """Runs one builder, strictly. What is in `read` are the pages as the builder before has read them."""
    options = ("-q", "-W", "--keep-going", "-j", "auto", "-b", builder, "-d", str(read))
    code: int = build_main([*options, str(SOURCE), str(target)])
    return code
