"""The server: starts a keeper for each client."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable

from fakecgroup_mount.warm.keeper import keep


def serve(listener: socket.socket, life: int, main: Callable[[list[str]], int]) -> None:
    """Serves clients until `life` is at its end."""
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    poller.register(life, select.POLLIN)
    while life not in (ready := {fd for fd, _ in poller.poll()}):
        if listener.fileno() in ready:
            with listener.accept()[0] as client:
                _start(client, main)


def _start(client: socket.socket, main: Callable[[list[str]], int]) -> None:
    """Starts a keeper that is no child of ours: our end could hang its process group up else (`keeper`).

    If none can be started, the client gets no answer, and starts without us.
    """
    try:
        pid = os.fork()
    except OSError:
        return
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        starter = os.getpid()
        if os.fork() == 0:
            keep(client, main, starter)
    finally:
        os._exit(0)
