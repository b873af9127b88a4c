"""The process that continues what a daemon has stopped, once that is killed; `frozen` runs this file.

Its standard input is a socket: `+PID` comes with a pidfd when a process is stopped, `-PID` when it goes on. When the
other end is closed, those that are still stopped are continued.
"""

from __future__ import annotations

import os
import resource
import signal
import socket

_MESSAGE = 16  # bytes


def main() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP, signal.SIGINT, signal.SIGTERM})  # the daemon decides
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    stopped: dict[bytes, int] = {}
    with socket.socket(fileno=0) as daemon:
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(daemon, _MESSAGE, 1)
            except OSError:
                break
            if not message:
                break
            known = stopped.pop(message[1:], None)
            if known is not None:
                os.close(known)
            for pidfd in descriptors:
                stopped[message[1:]] = pidfd
    for pidfd in stopped.values():
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
        except OSError:
            pass  # it has ended


if __name__ == "__main__":
    main()
