"""The keeper's child: takes on what the client was given, and goes on as the client would have."""

from __future__ import annotations

import atexit
import fcntl
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn, TextIO

from fakecgroup_mount.host.open_files import close_all_but
from fakecgroup_mount.warm.client import NUMBER, REFUSED, STARTED
from fakecgroup_mount.warm.request import Request

_UNFLUSHED = 120  # exit status of a Python that could not write its last words


def become(request: Request, client: socket.socket, main: Callable[[list[str]], int]) -> NoReturn:
    """Ends this process as `main` with the client's arguments does, or refuses."""
    status = 1
    try:
        try:
            client = _take_on(request, client)
        except OSError:
            client.sendall(REFUSED)
        else:
            client.sendall(STARTED + os.getpid().to_bytes(NUMBER, sys.byteorder))
            client.close()
            status = _run(main, request.argv)
    finally:
        os._exit(status)


def _take_on(request: Request, client: socket.socket) -> socket.socket:
    """Takes on what the client was given. Returns the connection, which gets another number. Raises OSError."""
    os.fchdir(request.files[0])
    os.umask(request.umask)
    os.environb.clear()
    os.environb.update(request.environment)
    client = _place(request.files[1:], request.numbers, client)
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python ignores these
        if (number in request.ignored) != (signal.getsignal(number) == signal.SIG_IGN):
            signal.signal(number, signal.SIG_IGN if number in request.ignored else signal.SIG_DFL)
    sys.stdin, sys.stdout, sys.stderr = map(_stream, range(3), request.streams)
    signal.pthread_sigmask(signal.SIG_SETMASK, request.mask)
    return client


def _place(files: list[int], numbers: list[int], client: socket.socket) -> socket.socket:
    """Gives the files the client's numbers, and closes all others but the connection. Raises OSError."""
    free = max([2, *numbers]) + 1
    kept = socket.socket(fileno=fcntl.fcntl(client, fcntl.F_DUPFD_CLOEXEC, free))
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, free) for fd in files]
    client.detach()
    close_all_but({kept.fileno(), *moved})
    for fd, number in zip(moved, numbers, strict=True):
        os.dup2(fd, number)
        os.close(fd)
    return kept


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
