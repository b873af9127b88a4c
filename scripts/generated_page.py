"""A page of docs that a program writes; with `--check` it says whether the page is current."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def main(command: str, name: str, source: str, text: Callable[[], str]) -> int:
    """What `scripts/COMMAND` does: writes the page `name` or compares it. Returns the exit status.

    A ValueError of `text` is told in one line, and the exit status is 1.
    """
    parser = argparse.ArgumentParser(prog=command, description=f"Writes {name} from {source}.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is not current")
    options = parser.parse_args()
    page = REPOSITORY / name
    try:
        wanted = text()
    except ValueError as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    if options.check:
        current = page.exists() and page.read_text(encoding="utf-8") == wanted
        if not current:
            print(f"{command}: {name} is not current: run scripts/{command} and commit it", file=sys.stderr)
        return 0 if current else 1
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(wanted, encoding="utf-8")
    return 0
