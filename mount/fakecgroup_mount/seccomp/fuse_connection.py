"""The end of the tree's FUSE connection, when whoever serves it may have died in the middle of an answer.

A thread of the server that waits for one of the server's own answers cannot be killed (fs/fuse/dev.c,
request_wait_answer), and so the process would keep /dev/fuse, and wait, for ever. A forced unmount ends the wait.
"""

from __future__ import annotations

from fakecgroup_mount.host.mountinfo import mounts
from fakecgroup_mount.seccomp.namespaces import UserAndMountNamespaces
from fakecgroup_mount.seccomp.syscalls import MNT_DETACH, MNT_FORCE, unmount


class FuseConnection:
    """Of the sandbox whose namespaces these are."""

    def __init__(self, there: UserAndMountNamespaces) -> None:
        self._there = there

    def end(self) -> None:
        """Ends it, with the file systems of this kind that were mounted in the sandbox; others' the kernel lets be."""
        self._there.do(_unmount_ours)


def _unmount_ours() -> None:
    for mount in list(mounts()):
        if mount.ours:
            try:
                unmount(mount.point, MNT_FORCE | MNT_DETACH)
            except OSError:
                pass  # EPERM, EINVAL: of another user namespace
