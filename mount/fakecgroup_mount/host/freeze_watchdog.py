"""What is stopped because its cgroup is frozen, known to a second process, so that a daemon that is killed (SIGKILL)
leaves nobody stopped for good.
"""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Protocol

from fakecgroup_mount.host import helper_process

log = logging.getLogger(__name__)

_THAWER = Path(__file__).with_name("thawer.py")


class FreezeObserver(Protocol):
    """Who is told of processes that a freezer stops."""

    def add(self, tgid: int, pidfd: int, start: str) -> None:
        """The process is about to be stopped; `start` is as /proc/PID/stat says it, a negative `pidfd` none."""

    def remove(self, tgid: int) -> None:
        """It goes on, or has ended."""


class FreezeWatchdog:
    """The other process is there from the first stop on, and ends with this one."""

    def __init__(self) -> None:
        self._thawer: socket.socket | None = None
        self._failed = False

    def add(self, tgid: int, pidfd: int, start: str) -> None:
        """The process is about to be stopped; `start` is as /proc/PID/stat says it, a negative `pidfd` none."""
        if self._thawer is None and not self._failed:
            try:
                self._thawer = helper_process.start(_THAWER)
            except OSError as error:
                self._fail(error)
        self._tell(b"+%d %s" % (tgid, start.encode()), [pidfd] if pidfd >= 0 else [])

    def remove(self, tgid: int) -> None:
        """It goes on, or has ended."""
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
