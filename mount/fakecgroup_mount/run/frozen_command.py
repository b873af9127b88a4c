"""Tells the front whether the command is stopped by its cgroup's freezer, or for a limit. The server knows.

When Ctrl-Z or SIGSTOP stops the command, the front stops too, so that the shell takes its terminal back. When the
freezer or a limit stops it, the front must not: nobody would continue the front after the thaw.
"""

from __future__ import annotations

import mmap


class FrozenCommand:
    """Shared memory, made before the server is started. In the server it is the `FreezeObserver`."""

    def __init__(self) -> None:
        self._said = mmap.mmap(-1, mmap.PAGESIZE)
        self._command = 0

    def begin(self, command: int) -> None:
        """Sets the pid of the command. Called in the server."""
        self._command = command

    def add(self, tgid: int, pidfd: int, start: str, *, frozen: bool) -> None:
        """A process is about to be stopped, or is stopped for other reasons now."""
        if tgid == self._command:
            self._said[:2] = bytes((1, frozen))

    def remove(self, tgid: int) -> None:
        """A process was resumed or has ended."""
        if tgid == self._command:
            self._said[:2] = bytes(2)

    @property
    def is_held(self) -> bool:
        """Whether the freezer or a limit has stopped the command. Called in the front."""
        return self._said[0] == 1

    @property
    def is_frozen(self) -> bool:
        """Whether the freezer has stopped the command. Called in the front."""
        return self._said[1] == 1
