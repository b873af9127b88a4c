"""The process that starts release agents; `release` runs this file with a socket as its standard input.

Each message is an agent's path, NUL, and its argument; each is answered with nothing, or with why it was not started.
With an argument, the descriptor of a mount namespace, they are run in that one.
An agent is what call_usermodehelper makes: two variables, /, umask 022, no open file, the user's own ids.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import sys

_ENVIRONMENT = {"HOME": "/", "PATH": "/sbin:/bin:/usr/sbin:/usr/bin"}  # cgroup1_release_agent
_CLONE_NEWNS = 0x00020000
_MESSAGE = 16384  # bytes: two paths
_FILES = 1024  # INR_OPEN_CUR; the daemon has raised its own limit
_NO_FILES = [(os.POSIX_SPAWN_CLOSE, fd) for fd in (0, 1, 2)]


def main() -> None:
    if len(sys.argv) > 1:
        _enter(int(sys.argv[1]))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for agents
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard), hard))
    os.chdir("/")
    os.umask(0o022)
    with socket.socket(fileno=0) as daemon:
        while message := daemon.recv(_MESSAGE):
            agent, _, argument = message.partition(b"\0")
            daemon.send(_started(agent, argument))


def _enter(mounts: int) -> None:
    """Joins a mount namespace (setns(2)); where that cannot be, no agent is run."""
    libc = ctypes.CDLL(None)
    if libc.setns(mounts, _CLONE_NEWNS):
        sys.exit(1)
    os.close(mounts)


def _started(agent: bytes, argument: bytes) -> bytes:
    try:
        os.posix_spawn(
            agent,
            [agent, argument],
            _ENVIRONMENT,
            file_actions=_NO_FILES,
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as error:
        return (error.strerror or "it cannot be started").encode()
    return b""


if __name__ == "__main__":
    main()
