"""``-`` as a file: standard input, which can be read several times."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import BinaryIO, TextIO

STANDARD_INPUT = Path("-")


def open_input(path: Path) -> BinaryIO:
    """Opens a file, or standard input for ``-``, to be read from its beginning.

    :raises OSError: it cannot be opened or read.
    """
    if path != STANDARD_INPUT:
        return path.open("rb", buffering=0)
    file = os.fdopen(os.dup(_spooled(sys.stdin).fileno()), "rb", buffering=0)
    file.seek(0)
    return file


@cache
def _spooled(stdin: TextIO) -> BinaryIO:
    """Standard input in a file without a name: some commands read their pods twice."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - open until the process ends
    shutil.copyfileobj(stdin.buffer, spool)
    spool.flush()
    return spool
