"""name_to_handle_at(2): a cgroup's handle is its inode number (fs/kernfs/mount.c, kernfs_encode_fh)."""

from __future__ import annotations

import os
from errno import EOVERFLOW
from struct import pack, unpack

from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.path_lookup import fd_path, lookup
from fakecgroup_mount.host.mountinfo import mount_of
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import signed, unique_mount_id

_AT_SYMLINK_FOLLOW = 0x400
_MNT_ID_UNIQUE, _FID = 0x001, 0x200  # AT_HANDLE_*: Linux 6.12, 6.5
_KNOWN = syscalls.AT_EMPTY_PATH | _AT_SYMLINK_FOLLOW | _MNT_ID_UNIQUE | _FID
_HANDLE = 8  # bytes
_FILEID_KERNFS, _FILEID_INVALID = 0xFE, 0xFF
_MAX_HANDLE = 128


class NameToHandleAtCall:
    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree

    def name_to_handle_at(self, call: Call) -> Answer:
        """EOVERFLOW for a buffer that is too small, with the size that it needs."""
        at, name, handle, where, flags = call.arguments[:5]
        if flags & ~_KNOWN:
            return CONTINUE
        try:
            path = call.memory.read_text(call.tid, name)
            if path:
                fd = lookup(call.tid, signed(at), path, follow=bool(flags & _AT_SYMLINK_FOLLOW))
            elif flags & syscalls.AT_EMPTY_PATH:
                fd = os.open(fd_path(call.tid, signed(at)), os.O_PATH | os.O_CLOEXEC)
            else:
                return CONTINUE
        except OSError:
            return CONTINUE
        try:
            own = f"/proc/self/fd/{fd}"
            if not self._tree.has(own):
                return CONTINUE
            (size,) = unpack("=I", call.memory.read(call.tid, handle, 4))
            if size > _MAX_HANDLE:
                return CONTINUE
            fits = size >= _HANDLE
            head = pack("=Ii", _HANDLE, _FILEID_KERNFS if fits else _FILEID_INVALID)
            content = pack("=Q", os.stat(own).st_ino) if fits else b""
            unique = bool(flags & _MNT_ID_UNIQUE)
            number = unique_mount_id(fd) if unique else mount_of(fd)
        finally:
            os.close(fd)
        if not number or not call.waits():
            return CONTINUE
        call.memory.write(call.tid, where, pack("=Q" if unique else "=i", number))
        call.memory.write(call.tid, handle, head + content)
        return 0 if fits else -EOVERFLOW
