"""name_to_handle_at(2): the handle of a cgroup, or of a file in one, has the inode number that programs see."""

from __future__ import annotations

import os
from errno import EOVERFLOW
from struct import pack, unpack

from fakecgroup.outside.file_handles import EMPTY_PATH, MNT_ID_UNIQUE, SYMLINK_FOLLOW, are_valid, file_handle, is_valid
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.path_lookup import fd_path, lookup
from fakecgroup_mount.host.mountinfo import mount_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import signed, unique_mount_id


class NameToHandleAtCall:
    """Handles of files of the tree."""

    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree

    def name_to_handle_at(self, call: Call) -> Answer:
        """EOVERFLOW for a buffer that is too small, which gets the size that it needs.

        The kernel itself answers wrong arguments and files of other file systems.
        """
        at, name, handle, mount_id, flags = call.arguments[:5]
        if not are_valid(flags):
            return CONTINUE
        try:
            path = call.memory.read_text(call.tid, name)
            if path:
                fd = lookup(call.tid, signed(at), path, follow=bool(flags & SYMLINK_FOLLOW))
            elif flags & EMPTY_PATH:
                fd = os.open(fd_path(call.tid, signed(at)), os.O_PATH | os.O_CLOEXEC)
            else:
                return CONTINUE
        except OSError:
            return CONTINUE
        try:
            path_of_fd = f"/proc/self/fd/{fd}"
            if not self._tree.has(path_of_fd):
                return CONTINUE
            (size,) = unpack("=I", call.memory.read(call.tid, handle, 4))
            if not is_valid(size):
                return CONTINUE
            content, fits = file_handle(os.stat(path_of_fd).st_ino, size)
            unique = bool(flags & MNT_ID_UNIQUE)
            number = unique_mount_id(fd) if unique else mount_of(fd)
        finally:
            os.close(fd)
        if not number or not call.waits():
            return CONTINUE
        call.memory.write(call.tid, mount_id, pack("=Q" if unique else "=i", number))
        call.memory.write(call.tid, handle, content)
        return 0 if fits else -EOVERFLOW
