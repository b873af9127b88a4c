"""Ends everything that lives in a user namespace or in one below it."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from fcntl import ioctl

_NS_GET_PARENT = 0xB702
_ROUNDS = 1000  # a process that forks faster than it can be found is not hunted for ever


def namespace_of(pid: int) -> tuple[int, int]:
    """Device and inode number of a process' user namespace. Raises OSError."""
    found = os.stat(f"/proc/{pid}/ns/user")
    return found.st_dev, found.st_ino


def sweep(namespace: tuple[int, int]) -> None:
    """SIGKILL to all, until there is none that lives."""
    for _ in range(_ROUNDS):
        found = list(_inside(namespace))
        if not found:
            return
        for pidfd in found:
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            except OSError:
                pass
            os.close(pidfd)


def _inside(namespace: tuple[int, int]) -> Iterator[int]:
    """A pidfd of each process that lives in the namespace."""
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            pidfd = os.pidfd_open(int(name))
        except OSError:
            continue
        if not _has_ended(pidfd) and _is_inside(name, namespace):
            yield pidfd
        else:
            os.close(pidfd)


def _has_ended(pidfd: int) -> bool:
    """Whether it is a zombie, which can wait long for its parent."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(0))


def _is_inside(pid: str, namespace: tuple[int, int]) -> bool:
    try:
        fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        while True:
            found = os.fstat(fd)
            if (found.st_dev, found.st_ino) == namespace:
                return True
            parent = ioctl(fd, _NS_GET_PARENT)
            os.close(fd)
            fd = parent
    except OSError:  # EPERM: above our own
        return False
    finally:
        os.close(fd)
