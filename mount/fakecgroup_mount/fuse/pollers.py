"""Programs that wait in poll(2) for a change of a file (FUSE_POLL, FUSE_NOTIFY_POLL)."""

from __future__ import annotations

import os
from errno import ENODEV, ENOENT

from fakecgroup import OpenFile
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.kernfs.inode import Inode
from fakecgroup_mount.fuse import wire


class Pollers:
    """Wakes up pollers through `fd`, an open /dev/fuse. `files` are the open files by handle."""

    def __init__(self, fd: int, files: dict[int, OpenFile]) -> None:
        self._fd = fd
        self._files = files
        self.waiting: dict[Inode, dict[int, int]] = {}  # file -> {handle: the kernel module's poll handle}

    def add(self, file: Inode, handle: int, poll_handle: int) -> None:
        """The open file is polled. The module wants one notification."""
        self.waiting.setdefault(file, {})[handle] = poll_handle

    def wake(self, file: CgroupFile) -> None:
        """Has the kernel module ask again with POLL for each poller of `file`."""
        for handle, poll_handle in self.waiting.pop(file, {}).items():
            if not self._files[handle].hears:
                continue
            try:
                os.write(
                    self._fd, wire.NOTIFY_POLL_OUT.pack(wire.NOTIFY_POLL_OUT.size, wire.NOTIFY_POLL, 0, poll_handle)
                )
            except OSError as error:
                if error.errno not in (ENOENT, ENODEV):
                    raise
