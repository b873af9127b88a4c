"""Who may do what to an inode (fs/namei.c, generic_permission; fs/attr.c, setattr_prepare)."""

from __future__ import annotations

from errno import EACCES, EPERM
from typing import TYPE_CHECKING

from .refuse import refuse

if TYPE_CHECKING:
    from .caller import Caller
    from .inode import Inode

MAY_EXEC = 1
MAY_WRITE = 2
MAY_READ = 4
_S_ISVTX = 0o1000


def permitted(inode: Inode, mask: int, caller: Caller) -> bool:
    """True where the mode bits, or root's privilege, allow every MAY_ bit of `mask`."""
    uid = caller.uid
    if not uid:
        return inode.is_dir or not mask & MAY_EXEC or bool(inode.mode & 0o111)
    mode = inode.mode
    if uid == inode.uid:
        mode >>= 6
    elif (mode >> 3 ^ mode) & mask & 7 and caller.in_group(inode.gid):
        mode >>= 3
    return not mask & ~mode & 7


def require(inode: Inode, mask: int, caller: Caller) -> None:
    """Raises EACCES where `permitted` says no."""
    if not permitted(inode, mask, caller):
        raise refuse(EACCES)


def require_owner(inode: Inode, caller: Caller) -> None:
    """Raises EPERM for anyone but the owner and root."""
    if not caller.privileged and caller.uid != inode.uid:
        raise refuse(EPERM)


def require_removable(parent: Inode, inode: Inode, caller: Caller) -> None:
    """In a sticky directory only the owner of the entry or of the directory removes it; EPERM for others."""
    if parent.mode & _S_ISVTX and caller.uid not in (inode.uid, parent.uid) and not caller.privileged:
        raise refuse(EPERM)
