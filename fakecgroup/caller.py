"""Who makes a system call."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple


def _no_groups() -> Collection[int]:
    return ()


def _no_files(descriptor: int) -> object:
    return None


class EventFd(NamedTuple):
    """An eventfd of the caller; `signal` adds 1 to it (eventfd(2))."""

    signal: Callable[[], None]


class Caller(NamedTuple):
    """Credentials of one call.

    `pid` is the calling thread (a writer of "0" to cgroup.procs means itself). `groups` gives the supplementary groups,
    `files` what one of the caller's descriptors is open on: an `Inode` of the model, an `EventFd`, any other object, or
    None for a descriptor that is not open. Both are asked only when a decision hangs on them.
    """

    uid: int = 0
    gid: int = 0
    pid: int = 1
    groups: Callable[[], Collection[int]] = _no_groups
    files: Callable[[int], object] = _no_files

    @property
    def privileged(self) -> bool:
        """Root, with every capability that matters here."""
        return self.uid == 0

    def in_group(self, gid: int) -> bool:
        """True where `gid` is the caller's group or one of its supplementary ones."""
        return gid == self.gid or gid in self.groups()


ROOT = Caller()
