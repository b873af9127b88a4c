"""Resumes stopped processes after the death of the daemon.

A `Freezer` stops processes with SIGSTOP. A second process (`thawer`) knows them and continues them if the daemon is
killed (SIGKILL).
"""

from __future__ import annotations

import os
import socket
from typing import Protocol

from fakecgroup_mount.host import helper_process
from fakecgroup_mount.host.log import Log

log = Log(__name__)

_THAWER = os.path.join(os.path.dirname(__file__), "thawer.py")


class FreezeObserver(Protocol):
    """Is told of each process that a freezer stops and resumes."""

    def add(self, tgid: int, pidfd: int, start: str, *, frozen: bool) -> None:
        """A process is about to be stopped, or is stopped for other reasons now.

        `start` is its start time in /proc/PID/stat. A negative `pidfd` is none. `frozen` is False if it is stopped for
        a limit alone.
        """

    def remove(self, tgid: int) -> None:
        """A process was resumed or has ended."""


class FreezeWatchdog:
    """Starts the second process with the first stop. It ends with the daemon."""

    def __init__(self) -> None:
        self._thawer: socket.socket | None = None
        self._failed = False

    def add(self, tgid: int, pidfd: int, start: str, *, frozen: bool) -> None:
        """A process is about to be stopped, or is stopped for other reasons now.

        `start` is its start time in /proc/PID/stat. A negative `pidfd` is none. `frozen` is False if it is stopped for
        a limit alone.
        """
        if self._thawer is None and not self._failed:
            try:
                self._thawer = helper_process.start(_THAWER)
            except OSError as error:
                self._fail(error)
        self._tell(b"+%d %s" % (tgid, start.encode()), [pidfd] if pidfd >= 0 else [])

    def remove(self, tgid: int) -> None:
        """A process was resumed or has ended."""
        self._tell(b"-%d" % tgid, [])

    def _tell(self, message: bytes, descriptors: list[int]) -> None:
        if self._thawer is None:
            return
        try:
            socket.send_fds(self._thawer, [message], descriptors)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._thawer, self._failed = None, True
        log.warning("nobody continues frozen processes if this daemon is killed: %s", error)
