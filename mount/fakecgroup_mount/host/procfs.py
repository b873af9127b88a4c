"""Checks that /proc belongs to our pid namespace. All that we know of processes comes from there."""

from __future__ import annotations

import os

from fakecgroup_mount.errors import MountError


def require_own_pid_namespace() -> None:
    """Raises MountError if /proc is missing or another pid namespace's, as after unshare -pf without --mount-proc."""
    try:
        own = os.readlink("/proc/self")
    except OSError as error:
        raise MountError(f"/proc: {error.strerror}: mount it first (mount -t proc proc /proc)") from None
    if own != str(os.getpid()):
        raise MountError(
            f"/proc is of another pid namespace: there this process is {own}, and not {os.getpid()}; "
            "mount ours over it first (mount -t proc proc /proc, or unshare --mount-proc)"
        )
