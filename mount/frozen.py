"""What is stopped because its cgroup is frozen, known to a second process, so that a daemon that is killed (SIGKILL)
leaves nobody stopped for good.
"""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Protocol

from . import helper_process

log = logging.getLogger(__name__)

_CONTINUER = Path(__file__).with_name("continuer.py")


class Keeper(Protocol):
    """Who is told of processes that a freezer stops."""

    def add(self, tgid: int, pidfd: int, start: str) -> None:
        """The process is about to be stopped; `start` is as /proc/PID/stat says it, a negative `pidfd` none."""

    def remove(self, tgid: int) -> None:
        """It goes on, or has ended."""


class Frozen:
    """The other process is there from the first stop on, and ends with this one."""

    def __init__(self) -> None:
        self._continuer: socket.socket | None = None
        self._failed = False

    def add(self, tgid: int, pidfd: int, start: str) -> None:
        """The process is about to be stopped; `start` is as /proc/PID/stat says it, a negative `pidfd` none."""
        if self._continuer is None and not self._failed:
            try:
                self._continuer = helper_process.start(_CONTINUER)
            except OSError as error:
                self._fail(error)
        self._tell(b"+%d %s" % (tgid, start.encode()), [pidfd] if pidfd >= 0 else [])

    def remove(self, tgid: int) -> None:
        """It goes on, or has ended."""
        self._tell(b"-%d" % tgid, [])

    def _tell(self, message: bytes, descriptors: list[int]) -> None:
        if self._continuer is None:
            return
        try:
            socket.send_fds(self._continuer, [message], descriptors)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._continuer, self._failed = None, True
        log.warning("nobody continues frozen processes if this daemon is killed: %s", error)
