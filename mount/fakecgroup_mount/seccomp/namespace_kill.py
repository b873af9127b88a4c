"""Ends everything that lives in a user namespace or in one below it."""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from collections.abc import Callable, Iterator

from fakecgroup_mount.seccomp.user_namespaces import Namespace, lineage, namespace_of

_ROUNDS = 1000  # a process that forks faster than it can be found is not hunted for ever
_LONG = 20  # rounds
_AT_ONCE = 8  # descriptors that are kept
_PATIENCE = 10  # ms for the end of one that is killed, before all are looked at again


def kill_namespace(namespace: Namespace, free: Callable[[], None] = lambda: None) -> None:
    """SIGKILL to all, until there is none that lives; `free` is called if that takes long, for who waits and cannot
    be killed.
    """
    for turn in range(_ROUNDS):
        killed: deque[int] = deque()
        for _, pidfd in processes_inside(namespace):
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            except OSError:
                pass
            killed.append(pidfd)
            if len(killed) > _AT_ONCE:
                os.close(killed.popleft())
        if not killed:
            return
        if turn == _LONG:
            free()
        for pidfd in killed:
            _has_ended(pidfd, _PATIENCE)
            os.close(pidfd)


def processes_inside(namespace: Namespace) -> Iterator[tuple[int, int]]:
    """Each process that lives in the namespace, but ours, with a pidfd to close."""
    known = {namespace: True}
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid() or not _is_inside(name, known):
            continue
        try:
            pidfd = os.pidfd_open(int(name))
        except OSError:
            continue
        if not _has_ended(pidfd) and _is_inside(name, known):  # it may be another by now
            yield int(name), pidfd
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
    above = list(lineage(pid))
    return known.setdefault(above[0], any(known.get(namespace, False) for namespace in above))
