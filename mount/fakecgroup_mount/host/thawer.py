"""Continues the processes that a killed daemon has left stopped; `freeze_watchdog` runs this file.

Standard input is a socket. `+PID START`, with a pidfd, says that a process is stopped; `-PID` that it was resumed. At
the descriptor limit the pidfd is missing and the start time identifies the process. When the other end is closed, the
processes that are still stopped are continued.
"""

from __future__ import annotations

import os
import resource
import signal
import socket

_MESSAGE = 64  # bytes
_STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_START = 19  # index in /proc/PID/stat, counted from the state


def main() -> None:
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
    )  # only the daemon's end ends it
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    stopped: dict[int, tuple[bytes, int | None]] = {}  # by pid: start time and pidfd
    with socket.socket(fileno=0) as daemon:
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(daemon, _MESSAGE, 1)
            except OSError:
                break
            if not message:
                break
            number, _, start = message[1:].partition(b" ")
            _, known = stopped.pop(int(number), (b"", None))
            if known is not None:
                os.close(known)
            if message.startswith(b"+"):
                stopped[int(number)] = start, descriptors[0] if descriptors else None
    for pid, (start, pidfd) in stopped.items():
        try:
            if _start_of(pid) == start:
                for stop in (signal.SIGCONT, *_pending_stops(pid)):
                    if pidfd is None:
                        os.kill(pid, stop)
                    else:
                        signal.pidfd_send_signal(pidfd, stop)
        except OSError:
            pass  # the process has ended


def _pending_stops(pid: int) -> list[int]:
    """`tasks.pending_stops`: SIGCONT takes them away, so they are sent again. Raises OSError."""
    with open(f"/proc/{pid}/status", "rb") as file:
        lines = file.readlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith((b"SigPnd:", b"ShdPnd:"))]
    stops = _STOPS if any(line.startswith(b"State:\tT") for line in lines) else _STOPS[1:]
    return [number for number in stops if any(mask >> (number - 1) & 1 for mask in masks)]


def _start_of(pid: int) -> bytes:
    """The start time of a process. Raises OSError."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[_START]


if __name__ == "__main__":
    main()
