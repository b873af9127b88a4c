"""The file handle of a cgroup or of a file in one (fs/fhandle.c, do_sys_name_to_handle; fs/kernfs/mount.c)."""

from __future__ import annotations

from struct import pack

EMPTY_PATH, SYMLINK_FOLLOW = 0x1000, 0x400
"""AT_EMPTY_PATH, AT_SYMLINK_FOLLOW."""

MNT_ID_UNIQUE = 0x001
"""AT_HANDLE_MNT_ID_UNIQUE, since Linux 6.12."""

_FID = 0x200  # AT_HANDLE_FID, since Linux 6.5
_BYTES = 8
_FILEID_KERNFS, _FILEID_INVALID = 0xFE, 0xFF
_MAX_HANDLE_SZ = 128


def are_valid(flags: int) -> bool:
    """Whether name_to_handle_at(2) takes these flags for a cgroup."""
    return not flags & ~(EMPTY_PATH | SYMLINK_FOLLOW | MNT_ID_UNIQUE | _FID)


def is_valid(size: int) -> bool:
    """Whether name_to_handle_at(2) takes a buffer of this size, in bytes."""
    return size <= _MAX_HANDLE_SZ


def file_handle(inode: int, size: int) -> tuple[bytes, bool]:
    """The struct file_handle for an inode number, and whether it fits into a buffer of `size` bytes.

    One that does not fit has the needed size and no content; the call fails with EOVERFLOW then (kernfs_encode_fh).
    """
    if size < _BYTES:
        return pack("=Ii", _BYTES, _FILEID_INVALID), False
    return pack("=IiQ", _BYTES, _FILEID_KERNFS, inode), True
