"""Unmounts a tree and waits for the end of its daemon."""

from __future__ import annotations

import os
import time

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse import daemons
from fakecgroup_mount.fuse.fuse_mount import umount_fuse
from fakecgroup_mount.hints import quoted, shown
from fakecgroup_mount.host.mountinfo import Mount, mount_at, mounts

_PATIENCE = 10.0  # seconds
_AT_ONCE = 0.3  # seconds for the daemon of an unused tree to end
_LOOKS = 3  # consecutive looks that must find the tree mounted elsewhere


def umount(path: str, *, force: bool = False) -> None:
    """Unmounts the tree at `path` (absolute, without links) and waits for the end of its daemon.

    `force` ends the daemon and the tree, even if programs use it here or in another mount namespace. Raises MountError
    if no tree of ours is mounted there, the tree is busy, or the daemon is stopped or does not end.
    """
    found = mount_at(path)
    if found is None:
        inside = [m.point for m in mounts() if m.ours and path.startswith(m.point + "/")]
        hint = f"; the tree it is in is mounted at {quoted(inside[-1])}" if inside else ""
        raise MountError(f"{shown(path)} is not a mount point{hint}")
    if not found.ours:
        raise MountError(f"{shown(path)} is no fakecgroup tree but {found.fstype}: unmount it with umount")
    pid = _known(found) if force else daemons.daemon_of(found)
    if force:
        if pid is not None:
            daemons.end(found, pid)
        left = mount_at(path)
        if left is not None and left.number == found.number:
            umount_fuse(path, lazy=True)
    elif pid is None:
        umount_fuse(path)
    else:
        _wait(found, pid)


def _known(mount: Mount) -> int | None:
    """The daemon's pid; None for a dead daemon."""
    pid = daemons.find_daemon(mount)
    return daemons.daemon_of(mount) if pid is None else pid


def _wait(mount: Mount, pid: int) -> None:
    """Unmounts and waits for the end of the daemon. Raises MountError."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        umount_fuse(mount.point)
        return
    try:
        umount_fuse(mount.point)
        deadline = time.monotonic() + _PATIENCE
        looks = 0
        while not daemons.has_ended(pidfd, _AT_ONCE):
            place = daemons.elsewhere(mount)
            looks = looks + 1 if place else 0  # a namespace that is just ending does not count
            if looks < _LOOKS and time.monotonic() < deadline:
                continue
            why = f"the tree is still mounted {place}" if place else "a program uses the tree elsewhere"
            raise MountError(
                f"{shown(mount.point)} is unmounted here, but its daemon (pid {pid}) goes on: {why}; kill {pid} ends it"
            )
    finally:
        os.close(pidfd)
