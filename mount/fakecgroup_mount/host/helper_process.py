"""Runs a file of ours as a process with none of the daemon's descriptors and imports."""

from __future__ import annotations

import socket
import sys


def start(script: str) -> socket.socket:
    """Starts the process and returns a connection to its standard input. Closing it ends the process. Raises
    OSError.
    """
    import subprocess  # takes a while to load

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
