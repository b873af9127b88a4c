"""Extended attributes as kernfs keeps them (fs/kernfs/inode.c, fs/xattr.c)."""

from __future__ import annotations

import os
import struct
from enum import Enum, auto
from errno import E2BIG, EEXIST, EINVAL, ENODATA, ENOSPC, EOPNOTSUPP, ERANGE
from typing import TYPE_CHECKING

from ..refuse import refuse

if TYPE_CHECKING:
    from ..machine.personality import Personality

XATTR_CREATE = 1
XATTR_REPLACE = 2
_NAME_MAX = 255
_SIZE_MAX = 65536  # bytes
_USER_COUNT_MAX = 128
_USER_BYTES_MAX = 128 << 10
CAPABILITY = "security.capability"
ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
_ACL_HEADER = struct.Struct("<I")
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_VERSION = 2
_ACL_NAMED = (2, 8)  # ACL_USER, ACL_GROUP
_ACL_TAGS = (1, 2, 4, 8, 16, 32)
_NOBODY = 0xFFFFFFFF
_PREFIXES = ("user.", "trusted.", "security.")


def check_length(name: str) -> None:
    """Check the length of a name, before all else. Raises ERANGE for an empty name and one over 255 bytes."""
    if not 0 < len(os.fsencode(name)) <= _NAME_MAX:
        raise refuse(ERANGE)


def check_name(name: str) -> None:
    """Check that kernfs has the namespace of a name (fs/xattr.c, xattr_resolve_name).

    Raises EOPNOTSUPP for any other, EINVAL for a namespace without a name in it.
    """
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            if name == prefix:
                raise refuse(EINVAL)
            return
    raise refuse(EOPNOTSUPP)


def refuse_access_list(value: bytes) -> None:
    """Refuse an access list, always: EINVAL if it is malformed (from 6.2 on), else EOPNOTSUPP.

    A list is a version (2), then entries of tag, permissions and id (fs/posix_acl.c, posix_acl_from_xattr).
    """
    if not value:
        raise refuse(EOPNOTSUPP)
    if len(value) < _ACL_HEADER.size:
        raise refuse(EINVAL)
    if _ACL_HEADER.unpack_from(value) != (_ACL_VERSION,):
        raise refuse(EOPNOTSUPP)
    entries = value[_ACL_HEADER.size :]
    if len(entries) % _ACL_ENTRY.size:
        raise refuse(EINVAL)
    for tag, _permissions, number in _ACL_ENTRY.iter_unpack(entries):
        if tag not in _ACL_TAGS or (tag in _ACL_NAMED and number == _NOBODY):
            raise refuse(EINVAL)
    raise refuse(EOPNOTSUPP)


class Order(Enum):
    """The order of listxattr(2). Kernels keep a list up to 6.1, a tree up to 6.12, then a hash table."""

    NEWEST_FIRST = auto()
    BY_NAME = auto()  # descending
    OLDEST_FIRST = auto()

    @staticmethod
    def of(kernel: Personality | None) -> Order:
        if kernel is None or kernel.at_least(7, 2):
            return Order.OLDEST_FIRST
        return Order.BY_NAME if kernel.at_least(6, 2) else Order.NEWEST_FIRST


class Xattrs:
    """The extended attributes of one inode."""

    _values: dict[str, bytes]
    _order: Order

    def __init__(self, order: Order) -> None:
        self._values = {}
        self._order = order

    def get(self, name: str) -> bytes:
        if name not in self._values:
            raise refuse(ENODATA)
        return self._values[name]

    def set(self, name: str, value: bytes, flags: int) -> None:
        """Set a value.

        Raises in this order: E2BIG, ENOSPC over the limits of user.*, EEXIST (create) or ENODATA (replace).
        """
        if len(value) > _SIZE_MAX:
            raise refuse(E2BIG)
        if name.startswith("user."):
            # a replaced value still counts while the new one is charged (kernfs_vfs_user_xattr_add)
            sizes = [len(v) for n, v in self._values.items() if n.startswith("user.")]
            if len(sizes) >= _USER_COUNT_MAX or sum(sizes) + len(value) > _USER_BYTES_MAX:
                raise refuse(ENOSPC)
        if flags & XATTR_CREATE and name in self._values:
            raise refuse(EEXIST)
        if flags & XATTR_REPLACE and name not in self._values:
            raise refuse(ENODATA)
        self._values[name] = value

    def remove(self, name: str) -> None:
        if name not in self._values:
            raise refuse(ENODATA)
        del self._values[name]

    def names(self) -> list[str]:
        """All names in the kernel's order."""
        names = list(self._values)
        if self._order is Order.BY_NAME:
            return sorted(names, key=os.fsencode, reverse=True)
        return names[::-1] if self._order is Order.NEWEST_FIRST else names
