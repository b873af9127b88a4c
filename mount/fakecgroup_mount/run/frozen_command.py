"""Whether the command stands still because its cgroup is frozen: the server knows it, and the front asks.

A command that is stopped by Ctrl-Z or SIGSTOP has the front stop too, so that a shell takes its terminal back. One that
is frozen must not: nobody would let the front go on when the cgroup is thawed.
"""

from __future__ import annotations

import mmap


class FrozenCommand:
    """Memory of both, made before the server is started; in the server told of who is frozen, as `FreezeWatchdog`."""

    def __init__(self) -> None:
        self._said = mmap.mmap(-1, mmap.PAGESIZE)
        self._command = 0

    def begin(self, command: int) -> None:
        """Says in the server which process it is about."""
        self._command = command

    def add(self, tgid: int, pidfd: int, start: str) -> None:
        """The process is about to be stopped."""
        if tgid == self._command:
            self._said[0] = 1

    def remove(self, tgid: int) -> None:
        """It goes on, or has ended."""
        if tgid == self._command:
            self._said[0] = 0

    @property
    def is_frozen(self) -> bool:
        """Asked by the front."""
        return self._said[0] == 1
