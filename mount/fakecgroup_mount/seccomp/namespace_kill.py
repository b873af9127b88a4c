"""Kills all processes in a user namespace and in the namespaces below it."""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from collections.abc import Callable, Iterator

from fakecgroup_mount.seccomp.user_namespaces import Inside, NamespaceId

_ROUNDS = 1000  # then a process that forks faster than it is found is left alone
_LONG = 20  # rounds until `free` is called
_AT_ONCE = 8  # pidfds that are kept open
_PATIENCE = 10  # ms for the end of a killed process before the next round


def kill_namespace(namespace: NamespaceId, free: Callable[[], None] = lambda: None) -> None:
    """Sends SIGKILL to all processes until none is left. If that takes long, `free` is called: it must end the wait of
    processes that cannot be killed.
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


def processes_inside(namespace: NamespaceId) -> Iterator[tuple[int, int]]:
    """Each living process in the namespace but this one, with a pidfd that the caller closes."""
    inside = Inside(namespace)
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid() or name not in inside:
            continue
        try:
            pidfd = os.pidfd_open(int(name))
        except OSError:
            continue
        if not _has_ended(pidfd) and name in inside:  # the pid may be another process's by now
            yield int(name), pidfd
        else:
            os.close(pidfd)


def _has_ended(pidfd: int, wait: int = 0) -> bool:
    """Whether a process has exited, or does so within `wait` ms. A zombie has."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(wait))
