"""Files that can be read several times, and ``-``, standard input, as one of them."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import BinaryIO, TextIO

STANDARD_INPUT = Path("-")


def open_input(path: Path) -> BinaryIO:
    """Opens a file, or standard input for ``-``, to be read from its beginning; a pipe is copied to a file first.

    :raises OSError: it cannot be opened or read.
    """
    if path != STANDARD_INPUT:
        file = path.open("rb", buffering=0)
        if file.seekable():
            return file
        with file:
            return _copied(file)
    file = os.fdopen(os.dup(_spooled(sys.stdin).fileno()), "rb", buffering=0)
    file.seek(0)
    return file


@cache
def _spooled(stdin: TextIO) -> BinaryIO:
    """Standard input in a file without a name: some commands read their pods twice."""
    return _copied(stdin.buffer)


def _copied(file: BinaryIO) -> BinaryIO:
    """A copy in a file without a name."""
    import shutil  # these take longer to import than three pods to read
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115 - open until the process ends
    shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy
