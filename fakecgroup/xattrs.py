"""Extended attributes as kernfs keeps them (fs/kernfs/inode.c, fs/xattr.c)."""

from __future__ import annotations

import os
from errno import E2BIG, EEXIST, EINVAL, ENODATA, ENOSPC, EOPNOTSUPP, EPERM, ERANGE
from typing import TYPE_CHECKING

from .refuse import refuse

if TYPE_CHECKING:
    from .caller import Caller

XATTR_CREATE = 1
XATTR_REPLACE = 2
_NAME_MAX = 255
_SIZE_MAX = 65536  # bytes
_USER_COUNT_MAX = 128
_USER_BYTES_MAX = 128 << 10
_PREFIXES = ("user.", "trusted.", "security.")


def check_name(name: str) -> None:
    """Raises ERANGE for a name too long, EOPNOTSUPP for a namespace that kernfs has not, EINVAL for a bare one."""
    if not 0 < len(os.fsencode(name)) <= _NAME_MAX:
        raise refuse(ERANGE)
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            if name == prefix:
                raise refuse(EINVAL)
            return
    raise refuse(EOPNOTSUPP)


def hidden_from(name: str, caller: Caller) -> bool:
    """True for trusted.*, which only a privileged caller sees."""
    return name.startswith("trusted.") and not caller.privileged


class Xattrs:
    """The attributes of one inode, in the order in which they were set."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, name: str) -> bytes:
        if name not in self._values:
            raise refuse(ENODATA)
        return self._values[name]

    def set(self, name: str, value: bytes, flags: int) -> None:
        """Raises E2BIG, EEXIST or ENODATA (create/replace), ENOSPC over the limits for user.*."""
        if len(value) > _SIZE_MAX:
            raise refuse(E2BIG)
        present = name in self._values
        if flags & XATTR_CREATE and present:
            raise refuse(EEXIST)
        if flags & XATTR_REPLACE and not present:
            raise refuse(ENODATA)
        if name.startswith("user."):
            others = [len(v) for n, v in self._values.items() if n.startswith("user.") and n != name]
            if len(others) >= _USER_COUNT_MAX or sum(others) + len(value) > _USER_BYTES_MAX:
                raise refuse(ENOSPC)
        self._values[name] = value

    def remove(self, name: str, caller: Caller) -> None:
        if hidden_from(name, caller):
            raise refuse(EPERM)
        if name not in self._values:
            raise refuse(ENODATA)
        del self._values[name]

    def names(self, caller: Caller) -> list[str]:
        return [name for name in self._values if not hidden_from(name, caller)]
