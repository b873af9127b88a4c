"""The command `scripts/picture`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import shown
from .svg import picture_of
from .terminal import output_of

_REPOSITORY = Path(__file__).resolve().parents[2]
_NAME = "docs/demo.svg"
_DEMO = _REPOSITORY / "scripts" / "demo"


def main() -> int:
    """Exit status: 0 done or current, 1 not current or the demo failed."""
    parser = argparse.ArgumentParser(prog="picture", description=f"Writes {_NAME} from what scripts/demo prints.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the picture is not current")
    options = parser.parse_args()
    printed, status = output_of([str(_DEMO)])
    if status:
        return _fail(f"scripts/demo ended with exit status {status}")
    without_mount, _, story = printed.partition("\n") if printed.startswith("No mount here") else ("", "", printed)
    file = _REPOSITORY / _NAME
    if not options.check:
        if without_mount:
            return _fail(without_mount)
        file.write_text(picture_of(story, title="scripts/demo"), encoding="utf-8")
    elif not file.exists() or shown.of_svg(file.read_text(encoding="utf-8")) != shown.of_terminal(story):
        return _fail(f"{_NAME} is not current: run scripts/picture and commit it")
    return 0


def _fail(text: str) -> int:
    print(f"picture: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
