"""A program on a pseudo terminal of its own."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import Sequence

COLUMNS = 100
_LINES = 60


def output_of(command: Sequence[str]) -> tuple[str, int]:
    """What a command prints on a terminal of 100 columns, escape sequences too, and its exit status."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=its, env={**environment, "TERM": "xterm-256color"}
    )
    os.close(its)
    parts = []
    while part := _read(ours):
        parts.append(part)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n"), process.wait()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: nobody has the other end open any more
        return b""
