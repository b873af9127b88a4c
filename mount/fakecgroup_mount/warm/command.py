"""The command line of `fakecgroup warm`."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection
from typing import NoReturn

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.execute import execute
from fakecgroup_mount.host.open_files import close_all_but
from fakecgroup_mount.host.shortage import explained
from fakecgroup_mount.run.front import PASSED_ON, SI_USER
from fakecgroup_mount.warm import VARIABLE
from fakecgroup_mount.warm.server import serve

_HELD = PASSED_ON | {signal.SIGCHLD, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_WAITING = 128  # clients that are not accepted yet


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `warm`."""
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD [ARG...]", help="the command")


def run(options: argparse.Namespace, main: Callable[[list[str]], int], load: Callable[[], None]) -> int:
    """Runs the command beside a server for `main` that has called `load`; its exit status. Raises MountError."""
    command = options.argv[1:] if options.argv[:1] == ["--"] else options.argv
    if not command:
        print("fakecgroup warm: what command? (see fakecgroup warm --help)", file=sys.stderr)
        return 2
    load()
    gc.collect()
    gc.freeze()
    gc.disable()  # each child enables it, as any start does
    name = f"fakecgroup-warm-{os.urandom(16).hex()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind("\0" + name)
        listener.listen(_WAITING)
        reading, _writing = os.pipe()  # it ends with us: nobody else keeps the other end
        if _forked() == 0:
            _become_server(listener, reading, main)
    os.close(reading)
    os.environ[VARIABLE] = name
    return _run(command)


def _become_server(listener: socket.socket, life: int, main: Callable[[list[str]], int]) -> NoReturn:
    """Serves, in a child, with no file or directory of ours and out of a terminal's reach, but in our session."""
    try:
        os.setpgid(0, 0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        close_all_but((0, 1, 2, listener.fileno(), life))
        serve(listener, life, main)
    finally:
        os._exit(0)


def _run(command: list[str]) -> int:
    """Runs the command; returns its exit status, 128+N for signal N. Stops when it stops. Raises MountError."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    pid = _forked()
    if pid == 0:
        _execute(command, mask)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if done and not os.WIFSTOPPED(status):
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if done:
            os.kill(os.getpid(), signal.SIGSTOP)  # so that the shell takes the terminal back
            continue
        told = signal.sigwaitinfo(_HELD)
        if told.si_signo in PASSED_ON and told.si_code <= SI_USER:
            os.kill(pid, told.si_signo)


def _forked() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise MountError(f"cannot start a process: {explained(error) or error.strerror}") from None


def _execute(command: list[str], mask: Collection[int]) -> NoReturn:
    """Becomes the command, in a child."""
    status = 1
    try:
        status = execute(command, mask, "fakecgroup warm")
    finally:
        os._exit(status)
