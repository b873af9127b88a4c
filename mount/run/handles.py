"""name_to_handle_at(2): a cgroup's handle is its inode number (fs/kernfs/mount.c, kernfs_encode_fh)."""

from __future__ import annotations

import ctypes
import os
from errno import EOVERFLOW
from struct import pack, unpack, unpack_from

from . import syscalls
from .listener import GOES, Answer, Call
from .process import descriptor, locate, mount_id, signed
from .tree import Tree

_AT_SYMLINK_FOLLOW = 0x400
_MNT_ID_UNIQUE, _FID = 0x001, 0x200  # AT_HANDLE_*: Linux 6.12, 6.5
_KNOWN = syscalls.AT_EMPTY_PATH | _AT_SYMLINK_FOLLOW | _MNT_ID_UNIQUE | _FID
_HANDLE = 8  # bytes
_FILEID_KERNFS, _FILEID_INVALID = 0xFE, 0xFF
_MAX_HANDLE = 128


class Handles:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def name_to_handle_at(self, call: Call) -> Answer:
        """EOVERFLOW for a buffer that is too small, with the size that it needs."""
        at, name, handle, where, flags = call.arguments[:5]
        if flags & ~_KNOWN:
            return GOES
        try:
            path = call.memory.read_text(call.tid, name)
            if path:
                fd = locate(call.tid, signed(at), path, follow=bool(flags & _AT_SYMLINK_FOLLOW))
            elif flags & syscalls.AT_EMPTY_PATH:
                fd = os.open(descriptor(call.tid, signed(at)), os.O_PATH | os.O_CLOEXEC)
            else:
                return GOES
        except OSError:
            return GOES
        try:
            own = f"/proc/self/fd/{fd}"
            if not self._tree.has(own):
                return GOES
            (size,) = unpack("=I", call.memory.read(call.tid, handle, 4))
            if size > _MAX_HANDLE:
                return GOES
            fits = size >= _HANDLE
            head = pack("=Ii", _HANDLE, _FILEID_KERNFS if fits else _FILEID_INVALID)
            content = pack("=Q", os.stat(own).st_ino) if fits else b""
            unique = bool(flags & _MNT_ID_UNIQUE)
            number = _unique_mount_id(fd) if unique else mount_id(os.getpid(), fd)
        finally:
            os.close(fd)
        if not number or not call.waits():
            return GOES
        call.memory.write(call.tid, where, pack("=Q" if unique else "=i", number))
        call.memory.write(call.tid, handle, head + content)
        return 0 if fits else -EOVERFLOW


_STATX_MNT_ID_UNIQUE = 0x4000
_STATX_SIZE, _STATX_MNT_ID = 256, 144  # bytes of a struct statx, and before its member stx_mnt_id


def _unique_mount_id(fd: int) -> int:
    """The number of the mount that no other mount has ever had; 0 before Linux 6.8."""
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    if syscalls.libc.statx(fd, b"", syscalls.AT_EMPTY_PATH, _STATX_MNT_ID_UNIQUE, buffer):
        return 0
    (mask,) = unpack_from("=I", buffer)
    return int(unpack_from("=Q", buffer, _STATX_MNT_ID)[0]) if mask & _STATX_MNT_ID_UNIQUE else 0
