"""The child of the server: takes on what the client was given, and goes on as the client would have."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Collection
from typing import TextIO

from fakecgroup_mount.warm.client import NUMBER, REFUSED, STARTED, program_facts, told_facts
from fakecgroup_mount.warm.likeness import likeness
from fakecgroup_mount.warm.request import Request, receive

_PATIENCE = 10.0  # seconds for a client to send what it began to
_PEER = struct.Struct("=iII")  # struct ucred
_UNFLUSHED = 120  # exit status of a Python that could not write its last words


def answer(connection: socket.socket, main: Callable[[list[str]], int]) -> int:
    """Serves one client: returns the exit status of `main` with its arguments, or refuses."""
    connection.settimeout(_PATIENCE)
    try:
        pid, uid, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        ours = likeness(os.getpid())
        if uid != os.geteuid() or ours is None or likeness(pid) != ours:
            raise PermissionError(pid)
        request = receive(connection)
        if request.facts != [*program_facts(), *told_facts()]:
            raise ValueError(request.facts)
        connection = _take_on(request, connection, os.getpgid(pid))
    except (OSError, ValueError):
        connection.sendall(REFUSED)
        return 0
    connection.sendall(STARTED + os.getpid().to_bytes(NUMBER, sys.byteorder))
    connection.close()
    return _run(main, request.argv)


def _take_on(request: Request, connection: socket.socket, group: int) -> socket.socket:
    """Takes on what the client was given. Returns the connection, which gets another number. Raises OSError."""
    os.setpgid(0, group)
    os.fchdir(request.files[0])
    os.umask(request.umask)
    os.environb.clear()
    os.environb.update(request.environment)
    connection = _place(request.files[1:], request.numbers, connection)
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python ignores these
        if (number in request.ignored) != (signal.getsignal(number) == signal.SIG_IGN):
            signal.signal(number, signal.SIG_IGN if number in request.ignored else signal.SIG_DFL)
    sys.stdin, sys.stdout, sys.stderr = map(_stream, range(3), request.streams)
    signal.pthread_sigmask(signal.SIG_SETMASK, request.mask)
    return connection


def _place(files: list[int], numbers: list[int], connection: socket.socket) -> socket.socket:
    """Gives the files the client's numbers, and closes all others but the connection. Raises OSError."""
    free = max([2, *numbers]) + 1
    kept = socket.socket(fileno=fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, free))
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, free) for fd in files]
    connection.detach()
    _close_all_but({kept.fileno(), *moved})
    for fd, number in zip(moved, numbers, strict=True):
        os.dup2(fd, number)
        os.close(fd)
    return kept


def _close_all_but(kept: Collection[int]) -> None:
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd not in kept:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(fd)


def _stream(fd: int, how: str) -> TextIO:
    """A standard stream as Python makes it."""
    if not how:
        return None  # type: ignore[return-value]  # what Python has for one that is closed
    encoding, _, errors = how.partition(":")
    return open(fd, "w" if fd else "r", -1 if fd < 2 else 1, encoding, errors, closefd=False)


def _run(main: Callable[[list[str]], int], argv: list[str]) -> int:
    """As Python runs a program: with what was registered to run at the end, and a last flush."""
    try:
        status: object = main(argv)
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        return _UNFLUSHED
    return status if isinstance(status, int) else 0 if status is None else 1
