"""Messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

PROGRAM = "cgroup-engine"


def complain(text: str, program: str = PROGRAM) -> None:
    """Prints one line about a failure."""
    print(f"{program}: {text}", file=sys.stderr)


def warn_of(notes: Sequence[str]) -> None:
    """Prints a warning for each note."""
    for note in notes:
        complain(f"warning: {note}")
