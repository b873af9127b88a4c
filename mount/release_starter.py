"""The process that starts release agents; `release` runs this file with a socket as its standard input.

Each message is an agent's path, NUL, and its argument; each is answered with nothing, or with why it was not started.
With two arguments, the path of a mount namespace and a seccomp filter in hex digits, they are run in that one and under
this filter; its listener is the first message to the daemon, which answers when it listens.
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
        _enter(sys.argv[1])
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for agents
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard), hard))
    os.chdir("/")
    os.umask(0o022)
    with socket.socket(fileno=0) as daemon:
        if len(sys.argv) > 1:
            _trap(daemon, bytes.fromhex(sys.argv[2]))
        while message := daemon.recv(_MESSAGE):
            agent, _, argument = message.partition(b"\0")
            daemon.send(_started(agent, argument))


def _enter(mounts: str) -> None:
    """Joins a mount namespace (setns(2)); where that cannot be, no agent is run."""
    libc = ctypes.CDLL(None)
    if libc.setns(os.open(mounts, os.O_RDONLY | os.O_CLOEXEC), _CLONE_NEWNS):
        sys.exit(1)


def _trap(daemon: socket.socket, code: bytes) -> None:
    """From here on, system calls are asked about as the command's are."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from mount.run.filter import install

    listener = install(code)
    socket.send_fds(daemon, [b"+"], [listener])
    os.close(listener)
    if not daemon.recv(1):
        sys.exit(1)


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
