"""User namespaces and their parents (ioctl_ns(2))."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fcntl import ioctl

_NS_GET_USERNS, _NS_GET_PARENT = 0xB701, 0xB702

NamespaceId = tuple[int, int]
"""A user namespace: device and inode number."""


def namespace_of(pid: int | str) -> NamespaceId:
    """The user namespace of a process. Raises OSError."""
    return _namespace(os.stat(f"/proc/{pid}/ns/user"))


def lineage(pid: int | str) -> Iterator[NamespaceId]:
    """The user namespace of a process and its ancestors, up to our own. Raises OSError."""
    return _upwards(os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC))


class Inside:
    """The processes in a user namespace and in those below it, for one look at all: it remembers namespaces."""

    def __init__(self, namespace: NamespaceId) -> None:
        self._known = {namespace: True}

    def __contains__(self, pid: str) -> bool:
        try:
            own = namespace_of(pid)
            return self._known[own] if own in self._known else self._is_below(pid)
        except OSError:
            return False

    def _is_below(self, pid: str) -> bool:
        above = list(lineage(pid))
        return self._known.setdefault(above[0], any(self._known.get(namespace, False) for namespace in above))


def owners(pid: int | str, kind: str) -> Iterator[NamespaceId]:
    """The user namespace that owns a process's namespace of a kind such as "cgroup", and its ancestors up to our own;
    empty if the owner is above our own. Raises OSError: no such process.
    """
    owned = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        owner = ioctl(owned, _NS_GET_USERNS)
    except OSError:  # EPERM
        return iter(())
    finally:
        os.close(owned)
    return _upwards(owner)


def _upwards(fd: int) -> Iterator[NamespaceId]:
    try:
        while True:
            yield _namespace(os.fstat(fd))
            try:
                above = ioctl(fd, _NS_GET_PARENT)
            except OSError:  # EPERM
                return
            os.close(fd)
            fd = above
    finally:
        os.close(fd)


def _namespace(found: os.stat_result) -> NamespaceId:
    return found.st_dev, found.st_ino
