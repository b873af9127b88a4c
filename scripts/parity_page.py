"""The program behind scripts/parity."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mount.conformance.parity import page

PAGE = Path(__file__).resolve().parent.parent / "docs" / "parity.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="parity", description="Writes docs/parity.md from the recordings.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is not current")
    options = parser.parse_args()
    text = page()
    if options.check:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        if not current:
            print("parity: docs/parity.md is not current: run scripts/parity and commit it", file=sys.stderr)
        return 0 if current else 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
