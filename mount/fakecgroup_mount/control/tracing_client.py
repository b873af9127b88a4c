"""Starts and ends the trace of a mounted tree."""

from __future__ import annotations

import os
import time

from fakecgroup_mount.control.client import ask
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.record.options import open_file

_PATIENCE = 30.0  # seconds for the file to take what is left
_PAUSE = 0.01


def start_trace(directory: str, name: str, limit: int) -> None:
    """Records what programs do to the tree at a directory. Raises MountError, CommandError."""
    told = ask(directory, "trace state", {})
    if told["state"] == "written":  # before the file is emptied: it may be the same one
        raise MountError(f"{shown(directory)}: a trace is written already, to {told['name']}: end it with trace stop")
    file = open_file(name, limit, called="")
    try:
        ask(directory, "trace start", {"name": file.name, "limit": str(file.limit)}, file.fd)
    finally:
        os.close(file.fd)


def stop_trace(directory: str) -> None:
    """Ends it, and waits until the file is written. Raises MountError, CommandError."""
    told = ask(directory, "trace stop", {})
    end = time.monotonic() + _PATIENCE
    while ask(directory, "trace state", {})["state"] == "ending":
        if time.monotonic() > end:
            raise MountError(f"{shown(str(told['name']))}: the file takes nothing")
        time.sleep(_PAUSE)
