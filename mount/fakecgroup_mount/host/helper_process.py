"""Starts a file of ours as a process of its own, with none of the daemon's descriptors and imports."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path


def start(script: Path) -> socket.socket:
    """The connection to the process, whose standard input is the other end; it ends when that is closed. Raises
    OSError.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-IS", script],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return ours
