"""Ends everything that lives in a user namespace or in one below it."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from fcntl import ioctl

_NS_GET_PARENT = 0xB702
_ROUNDS = 1000  # a process that forks faster than it can be found is not hunted for ever
_PATIENCE = 10  # ms for the end of one that is killed, before all are looked at again

Namespace = tuple[int, int]
"""A user namespace: device and inode number."""


def namespace_of(pid: int | str) -> Namespace:
    """The user namespace of a process. Raises OSError."""
    return _namespace(os.stat(f"/proc/{pid}/ns/user"))


def sweep(namespace: Namespace) -> None:
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
        for pidfd in found:
            _has_ended(pidfd, _PATIENCE)
            os.close(pidfd)


def _inside(namespace: Namespace) -> Iterator[int]:
    """A pidfd of each process that lives in the namespace."""
    known = {namespace: True}
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid() or not _is_inside(name, known):
            continue
        try:
            pidfd = os.pidfd_open(int(name))
        except OSError:
            continue
        if not _has_ended(pidfd) and _is_inside(name, known):  # it may be another by now
            yield pidfd
        else:
            os.close(pidfd)


def _has_ended(pidfd: int, wait: int = 0) -> bool:
    """Whether it is a zombie, which can wait long for its parent; `wait` are ms."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(wait))


def _is_inside(pid: str, known: dict[Namespace, bool]) -> bool:
    """Whether a process is in one of the `known` namespaces that count, or below one; its own is known then."""
    try:
        own = namespace_of(pid)
        return known[own] if own in known else _is_below(pid, known)
    except OSError:
        return False


def _is_below(pid: str, known: dict[Namespace, bool]) -> bool:
    """Raises OSError."""
    fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        own = namespace = _namespace(os.fstat(fd))
        while namespace not in known:
            try:
                parent = ioctl(fd, _NS_GET_PARENT)
            except OSError:  # EPERM: above our own
                break
            os.close(fd)
            fd = parent
            namespace = _namespace(os.fstat(fd))
        return known.setdefault(own, known.get(namespace, False))
    finally:
        os.close(fd)


def _namespace(found: os.stat_result) -> Namespace:
    return found.st_dev, found.st_ino
