"""The keeper of a client: the parent of the process that the client asks for, in the client's process group.

The process's parent has to be in its group, as a shell's job has it. Were it in another one of the session, the kernel
would take the process's end for that of the group's last connection to a shell, and hang all of it up if one in it is
stopped (kill_orphaned_pgrp). The keeper itself has init for a parent.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable

from fakecgroup_mount.warm.child import become
from fakecgroup_mount.warm.client import ENDED, NUMBER, REFUSED, STOPPED, program_facts, told_facts
from fakecgroup_mount.warm.likeness import likeness
from fakecgroup_mount.warm.request import Request, receive

_PATIENCE = 10.0  # seconds for a client to send what it began to
_PAUSE = 0.0001  # seconds between two looks at who our parent is
_PEER = struct.Struct("=iII")  # struct ucred
_MINDED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT}


def keep(client: socket.socket, main: Callable[[list[str]], int], starter: int) -> None:
    """Serves a client: has `main` called with its arguments in a child, and tells how that ends. Or refuses.

    `starter` is the pid of our parent, which is about to end.
    """
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    try:
        request = _admit(client, starter)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        pid = os.fork()
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            client.sendall(REFUSED)
        return
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        become(request, client, main)
    for number in _MINDED:  # those of a terminal are for the child
        signal.signal(number, signal.SIG_IGN)
    for fd in request.files:
        os.close(fd)
    _wait(pid, client, woken)


def _admit(client: socket.socket, starter: int) -> Request:
    """What the client asks for. Joins its process group, once `starter` has ended.

    Raises OSError or ValueError if it is not the server's user, or has anything else than the server.
    """
    client.settimeout(_PATIENCE)
    pid, uid, _ = _PEER.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    ours = likeness(os.getpid())
    if uid != os.geteuid() or ours is None or likeness(pid) != ours:
        raise PermissionError(pid)
    request = receive(client)
    if request.facts != [*program_facts(), *told_facts()]:
        raise ValueError(request.facts)
    while os.getppid() == starter:
        time.sleep(_PAUSE)
    os.setpgid(0, os.getpgid(pid))
    return request


def _wait(pid: int, client: socket.socket, woken: socket.socket) -> None:
    """Tells the client of the child's stops and of its end. Kills the child if the client was killed."""
    poller = select.poll()
    poller.register(client, 0)
    poller.register(woken, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poller.poll()}
        if client.fileno() in ready:
            poller.unregister(client)
            os.kill(pid, signal.SIGKILL)
        if woken.fileno() not in ready:
            continue
        woken.recv(4096)
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if not done:
            continue
        stopped = os.WIFSTOPPED(status)
        with contextlib.suppress(OSError):  # it is gone
            client.sendall(STOPPED if stopped else ENDED + status.to_bytes(NUMBER, sys.byteorder))
        if not stopped:
            return
