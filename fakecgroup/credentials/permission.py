"""Permission checks on inodes (fs/namei.c, generic_permission; fs/attr.c, setattr_prepare)."""

from __future__ import annotations

from errno import EACCES, EPERM
from stat import S_IMODE, S_ISGID, S_ISUID, S_IXGRP
from typing import TYPE_CHECKING

from ..refuse import refuse
from .capability import Capability

if TYPE_CHECKING:
    from ..kernfs.inode import Inode
    from .caller import Caller

MAY_EXEC = 1
MAY_WRITE = 2
MAY_READ = 4
_S_ISVTX = 0o1000
_OVERRIDE = Capability.DAC_OVERRIDE
_SEARCH = Capability.DAC_OVERRIDE | Capability.DAC_READ_SEARCH


def permitted(inode: Inode, mask: int, caller: Caller) -> bool:
    """True if the mode bits, or else a capability, allow every MAY_ bit of `mask`."""
    mode = inode.mode
    if not mask * 0o111 & ~mode:  # owner, group and others alike
        return True
    if caller.uid == inode.uid:
        mode >>= 6
    elif (mode >> 3 ^ mode) & mask & 7 and caller.in_group(inode.gid):
        mode >>= 3
    return not mask & ~mode & 7 or _overridden(inode, mask, caller)


def _overridden(inode: Inode, mask: int, caller: Caller) -> bool:
    """True if a capability overrides the mode bits. None lets a file be executed that has no execute bit."""
    if inode.is_dir:
        needed = _OVERRIDE if mask & MAY_WRITE else _SEARCH
    elif mask & MAY_EXEC and not inode.mode & 0o111:
        return False
    else:
        needed = _SEARCH if mask == MAY_READ else _OVERRIDE
    return over_inode(caller, needed, inode)


def over_inode(caller: Caller, capability: Capability, inode: Inode) -> bool:
    """True if the caller has one of these capabilities over an inode (capable_wrt_inode_uidgid)."""
    return caller.privileges().over_ids(capability, inode.uid, inode.gid)


def owns(inode: Inode, caller: Caller) -> bool:
    """True for the owner and with CAP_FOWNER (inode_owner_or_capable)."""
    return caller.uid == inode.uid or caller.privileges().over_owner(Capability.FOWNER, inode.uid)


def require(inode: Inode, mask: int, caller: Caller) -> None:
    """Require `permitted`. Raises EACCES."""
    if not permitted(inode, mask, caller):
        raise refuse(EACCES)


def require_owner(inode: Inode, caller: Caller) -> None:
    """Require the owner or CAP_FOWNER. Raises EPERM."""
    if not owns(inode, caller):
        raise refuse(EPERM)


def require_removable(parent: Inode, inode: Inode, caller: Caller) -> None:
    """Require, in a sticky directory, the owner of the entry or of the directory (__check_sticky).

    Raises EPERM for others without CAP_FOWNER.
    """
    sticky = parent.mode & _S_ISVTX and caller.uid not in (inode.uid, parent.uid)
    if sticky and not over_inode(caller, Capability.FOWNER, inode):
        raise refuse(EPERM)


def require_chown(inode: Inode, uid: int | None, gid: int | None, caller: Caller) -> None:
    """Require the right to chown: an owner may set one of its groups, all else takes CAP_CHOWN (chown_ok, chgrp_ok).

    None leaves an id as it is. Raises EPERM.
    """
    owner = caller.uid == inode.uid
    own_uid = uid is None or (owner and uid == inode.uid)
    own_gid = gid is None or (owner and (gid == inode.gid or caller.in_group(gid)))
    if not (own_uid and own_gid) and not over_inode(caller, Capability.CHOWN, inode):
        raise refuse(EPERM)


def keeps_setgid(inode: Inode, gid: int, caller: Caller) -> bool:
    """True if the caller may keep the setgid bit on a file of this group (in_group_or_capable)."""
    return caller.in_group(gid) or over_inode(caller, Capability.FSETID, inode)


def setid_bits(inode: Inode, caller: Caller) -> int:
    """The setuid and setgid bits that a change of owner drops (setattr_should_drop_suidgid).

    A setgid bit without group execute stays if the caller may set it.
    """
    mode = S_IMODE(inode.mode)
    bits = mode & S_ISUID
    if mode & S_ISGID and (mode & S_IXGRP or not keeps_setgid(inode, inode.gid, caller)):
        bits |= S_ISGID
    return bits
