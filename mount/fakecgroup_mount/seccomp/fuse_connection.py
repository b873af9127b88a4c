"""Ends the FUSE connections of a sandbox whose server has died.

A thread of the server that waits for the server's own answer cannot be killed (fs/fuse/dev.c, request_wait_answer). The
dead process would keep /dev/fuse open and wait for ever. A forced unmount ends the wait.
"""

from __future__ import annotations

from fakecgroup_mount.host.mountinfo import mounts
from fakecgroup_mount.seccomp.namespaces import UserAndMountNamespaces
from fakecgroup_mount.seccomp.syscalls import MNT_DETACH, MNT_FORCE, unmount


class FuseConnection:
    """The FUSE connections of the sandbox with these namespaces."""

    def __init__(self, there: UserAndMountNamespaces) -> None:
        self._there = there

    def end(self) -> None:
        """Unmounts all our trees in the sandbox by force. The kernel refuses it for those of other user namespaces."""
        self._there.do(_unmount_ours)


def _unmount_ours() -> None:
    for mount in list(mounts()):
        if mount.ours:
            try:
                unmount(mount.point, MNT_FORCE | MNT_DETACH)
            except OSError:
                pass  # EPERM, EINVAL: of another user namespace
