"""What the command line says on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

PROGRAM = "cgroup-engine"


def complain(text: str) -> None:
    """One line about what went wrong."""
    print(f"{PROGRAM}: {text}", file=sys.stderr)


def warn_of(notes: Sequence[str]) -> None:
    """A line for each thing that is worth knowing although nothing failed."""
    for note in notes:
        complain(f"warning: {note}")
