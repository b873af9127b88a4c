"""The program behind scripts/docs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .build import SOURCE, build


def main() -> int:
    """Builds into the folder given; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="docs",
        description="Builds the docs site, strictly and offline, with man pages and shell completions.",
        epilog="Exit status: 0 done, 1 a warning or an error, 2 the command line is wrong.",
    )
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE.parent / "build" / "site", metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    try:
        status = build(folder)
    except ValueError as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    if status == 0:
        print(f"{folder / 'index.html'}; man pages and completions beside it")
    return status


if __name__ == "__main__":
    sys.exit(main())
