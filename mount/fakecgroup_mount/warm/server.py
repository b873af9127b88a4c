"""The server: forks for each client, and tells it how its child ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable

from fakecgroup_mount.warm.child import answer
from fakecgroup_mount.warm.client import ENDED, NUMBER, STOPPED


def serve(listener: socket.socket, life: int, main: Callable[[list[str]], int]) -> None:
    """Serves clients until `life` is at its end and the last child has ended."""
    woken, wake = socket.socketpair()
    for one in (listener, woken, wake):
        one.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    children: dict[int, socket.socket] = {}
    poller = select.poll()
    for fd in (listener.fileno(), woken.fileno(), life):
        poller.register(fd, select.POLLIN)
    serving = True
    while serving or children:
        ready = {fd for fd, _ in poller.poll()}
        if woken.fileno() in ready:
            woken.recv(4096)
        _tell(children, poller)
        for pid, client in children.items():
            if client.fileno() in ready:  # it was killed
                os.kill(pid, signal.SIGKILL)
        if serving and listener.fileno() in ready:
            client = listener.accept()[0]
            pid = _fork(client, main)
            if pid:
                children[pid] = client
                poller.register(client, 0)
            else:
                client.close()  # it starts without us, and tells what is short
        if serving and life in ready:
            serving = False
            poller.unregister(listener)
            poller.unregister(life)
            listener.close()


def _fork(client: socket.socket, main: Callable[[list[str]], int]) -> int:
    """The pid of a child that serves the client; 0 if there can be none."""
    try:
        pid = os.fork()
    except OSError:
        return 0
    if pid == 0:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            status = answer(client, main)
        finally:
            os._exit(status)
    return pid


def _tell(children: dict[int, socket.socket], poller: select.poll) -> None:
    """Tells clients whose children have stopped or ended."""
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return
        stopped = os.WIFSTOPPED(status)
        client = children[pid] if stopped else children.pop(pid)
        try:
            client.sendall(STOPPED if stopped else ENDED + status.to_bytes(NUMBER, sys.byteorder))
        except OSError:
            pass  # it is gone
        if not stopped:
            poller.unregister(client)
            client.close()
