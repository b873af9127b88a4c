"""Becomes a command, as shells do."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection
from errno import ENOENT

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def execute(command: list[str], mask: Collection[int], program: str) -> int:
    """Executes a command, with `mask` for its blocked signals.

    If that fails, says so in a line that begins with `program`, and returns the exit status.
    """
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        if not command[0]:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT))  # Python raises ValueError for an empty name
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{program}: {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        return _NOT_FOUND if error.errno == ENOENT else _NOT_EXECUTABLE
