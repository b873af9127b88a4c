"""Who may do what to an inode (fs/namei.c, generic_permission; fs/attr.c, setattr_prepare)."""

from __future__ import annotations

from errno import EACCES, EPERM
from stat import S_IMODE, S_ISGID, S_ISUID, S_IXGRP
from typing import TYPE_CHECKING

from .capability import Capability
from .refuse import refuse

if TYPE_CHECKING:
    from .caller import Caller
    from .inode import Inode

MAY_EXEC = 1
MAY_WRITE = 2
MAY_READ = 4
_S_ISVTX = 0o1000
_OVERRIDE = Capability.DAC_OVERRIDE
_SEARCH = Capability.DAC_OVERRIDE | Capability.DAC_READ_SEARCH


def permitted(inode: Inode, mask: int, caller: Caller) -> bool:
    """True where the mode bits, or else a capability, allow every MAY_ bit of `mask`."""
    mode = inode.mode
    if not mask * 0o111 & ~mode:  # owner, group and others alike
        return True
    if caller.uid == inode.uid:
        mode >>= 6
    elif (mode >> 3 ^ mode) & mask & 7 and caller.in_group(inode.gid):
        mode >>= 3
    return not mask & ~mode & 7 or _overridden(inode, mask, caller)


def _overridden(inode: Inode, mask: int, caller: Caller) -> bool:
    """Whether a capability allows what the mode bits do not. None lets a file be executed that nobody may execute."""
    if inode.is_dir:
        needed = _OVERRIDE if mask & MAY_WRITE else _SEARCH
    elif mask & MAY_EXEC and not inode.mode & 0o111:
        return False
    else:
        needed = _SEARCH if mask == MAY_READ else _OVERRIDE
    return over_inode(caller, needed, inode)


def over_inode(caller: Caller, capability: Capability, inode: Inode) -> bool:
    """Whether the caller has one of these capabilities over an inode (capable_wrt_inode_uidgid)."""
    return caller.privileges().over_ids(capability, inode.uid, inode.gid)


def owns(inode: Inode, caller: Caller) -> bool:
    """True for the owner and for CAP_FOWNER (inode_owner_or_capable)."""
    return caller.uid == inode.uid or caller.privileges().over_owner(Capability.FOWNER, inode.uid)


def require(inode: Inode, mask: int, caller: Caller) -> None:
    """Raises EACCES where `permitted` says no."""
    if not permitted(inode, mask, caller):
        raise refuse(EACCES)


def require_owner(inode: Inode, caller: Caller) -> None:
    """Raises EPERM for anyone but the owner, without CAP_FOWNER."""
    if not owns(inode, caller):
        raise refuse(EPERM)


def require_removable(parent: Inode, inode: Inode, caller: Caller) -> None:
    """In a sticky directory only the owner of the entry or of the directory removes it (__check_sticky); EPERM for
    others without CAP_FOWNER.
    """
    sticky = parent.mode & _S_ISVTX and caller.uid not in (inode.uid, parent.uid)
    if sticky and not over_inode(caller, Capability.FOWNER, inode):
        raise refuse(EPERM)


def require_chown(inode: Inode, uid: int | None, gid: int | None, caller: Caller) -> None:
    """The owner gives a file to one of its groups; all else is for CAP_CHOWN (chown_ok, chgrp_ok), EPERM for others."""
    owner = caller.uid == inode.uid
    own_uid = uid is None or (owner and uid == inode.uid)
    own_gid = gid is None or (owner and (gid == inode.gid or caller.in_group(gid)))
    if not (own_uid and own_gid) and not over_inode(caller, Capability.CHOWN, inode):
        raise refuse(EPERM)


def keeps_setgid(inode: Inode, gid: int, caller: Caller) -> bool:
    """Whether the caller may leave the setgid bit to a file of this group (in_group_or_capable)."""
    return caller.in_group(gid) or over_inode(caller, Capability.FSETID, inode)


def setid_bits(inode: Inode, caller: Caller) -> int:
    """The bits of setuid and setgid that a new owner takes away (setattr_should_drop_suidgid).

    A setgid bit without the group's right to execute stays for who may set it.
    """
    mode = S_IMODE(inode.mode)
    bits = mode & S_ISUID
    if mode & S_ISGID and (mode & S_IXGRP or not keeps_setgid(inode, inode.gid, caller)):
        bits |= S_ISGID
    return bits
