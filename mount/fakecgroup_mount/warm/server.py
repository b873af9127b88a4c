"""The server: forks a keeper for each client."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable

from fakecgroup_mount.warm.keeper import keep


def serve(listener: socket.socket, life: int, main: Callable[[list[str]], int]) -> None:
    """Serves clients until `life` is at its end and the last keeper has ended."""
    woken, wake = socket.socketpair()
    for one in (listener, woken, wake):
        one.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    keepers = 0
    poller = select.poll()
    for fd in (listener.fileno(), woken.fileno(), life):
        poller.register(fd, select.POLLIN)
    serving = True
    while serving or keepers:
        ready = {fd for fd, _ in poller.poll()}
        if woken.fileno() in ready:
            woken.recv(4096)
            while keepers and os.waitpid(-1, os.WNOHANG)[0]:
                keepers -= 1
        if serving and listener.fileno() in ready:
            with listener.accept()[0] as client:
                keepers += _fork(client, main)
        if serving and life in ready:
            serving = False
            poller.unregister(listener)
            poller.unregister(life)
            listener.close()


def _fork(client: socket.socket, main: Callable[[list[str]], int]) -> int:
    """Returns how many keepers there are more: 0 if none can be forked. Then the client starts without us."""
    try:
        pid = os.fork()
    except OSError:
        return 0
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep(client, main)
        finally:
            os._exit(0)
    return 1
