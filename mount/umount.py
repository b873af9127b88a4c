"""Unmounting a tree, and waiting until nothing of it is left."""

from __future__ import annotations

import os
import select

from .attach import detach
from .errors import MountError
from .mountinfo import mount_at, mounts
from .native import DAEMON_XATTR

_PATIENCE = 10.0  # seconds


def umount(path: str) -> None:
    """Unmounts the tree at `path` (absolute, without links) and waits for the end of its daemon.

    Raises MountError where nothing or something else is mounted there, it is busy, or the daemon goes on.
    """
    found = mount_at(path)
    if found is None:
        inside = [m.point for m in mounts() if m.ours and path.startswith(m.point + "/")]
        hint = f"; the tree it is in is mounted at {inside[-1]}" if inside else ""
        raise MountError(f"{path} is not a mount point{hint}")
    if not found.ours:
        raise MountError(f"{path} is no fakecgroup tree but {found.fstype}: unmount it with umount")
    daemon = _daemon_of(path)
    detach(path)
    if daemon is None:
        return
    pid, pidfd = daemon
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        if not poller.poll(_PATIENCE * 1000):
            raise MountError(
                f"{path} is unmounted here, but its daemon (pid {pid}) goes on: the tree is still mounted in another "
                f"mount namespace, or a program uses it there; kill {pid} ends it"
            )
    finally:
        os.close(pidfd)


def _daemon_of(path: str) -> tuple[int, int] | None:
    """The pid of the daemon behind a mount and a pidfd for it; None for one that has died."""
    try:
        pid = int(os.getxattr(path, DAEMON_XATTR))
        return pid, os.pidfd_open(pid)
    except OSError:
        return None
