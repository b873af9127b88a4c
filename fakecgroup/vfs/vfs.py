"""System calls on inodes: the checks of the VFS, then those of kernfs, in the kernel's order.

Transports call these with inodes, `Kernel` with inodes that it finds by path. A refusal is an ``OSError`` with the
kernel's errno. Names are str as ``os.fsdecode`` makes them.
"""

from __future__ import annotations

import os
import stat
from errno import (
    EACCES,
    EBUSY,
    EEXIST,
    EFBIG,
    EINVAL,
    EISDIR,
    ELOOP,
    ENODATA,
    ENOENT,
    ENOTDIR,
    ENOTEMPTY,
    EPERM,
    EROFS,
    EXDEV,
)
from typing import TYPE_CHECKING

from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..credentials.capability import Capability
from ..credentials.permission import (
    MAY_EXEC,
    MAY_READ,
    MAY_WRITE,
    keeps_setgid,
    permitted,
    require,
    require_chown,
    require_owner,
    require_removable,
    setid_bits,
)
from ..kernfs import xattrs
from ..kernfs.inode import Directory, Inode, Stat, Symlink, TopDirectory
from ..named_tuple import NamedTuple
from ..refuse import refuse
from .openfile import OpenFile

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..credentials.caller import Caller
    from ..machine.personality import Personality

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
RENAME_WHITEOUT = 4
NAME_MAX = 255
_SYS_ADMIN = Capability.SYS_ADMIN
S_ISVTX = 0o1000
_NOT_BY_MODE = ("security.", "system.", "trusted.")  # attributes that the mode does not guard
MAX_NON_LFS = 0x7FFFFFFF  # bytes; the end of every file before 7.0 (s_maxbytes)
_ACCESS = {os.O_RDONLY: MAY_READ, os.O_WRONLY: MAY_WRITE, os.O_RDWR: MAY_READ | MAY_WRITE}


class StatFs(NamedTuple):
    """The values of statfs(2) that do not depend on the transport."""

    type: int
    bsize: int = 4096
    namelen: int = NAME_MAX


class Vfs:
    """The system calls on one tree. `root` is the mounted directory."""

    def __init__(self, root: Directory) -> None:
        self.root = root

    # -- looking ----------------------------------------------------------------------------------

    def lookup(self, parent: Inode, name: str, caller: Caller) -> Inode:
        """The entry `name` of `parent`. Raises ENOTDIR, EACCES without search permission, ENOENT."""
        found = self.find(parent, name, caller)
        if found is None:
            raise refuse(ENOENT)
        return found

    def find(self, parent: Inode, name: str, caller: Caller) -> Inode | None:
        """As `lookup`, but None if there is no such entry."""
        if not isinstance(parent, Directory):
            raise refuse(ENOTDIR)
        require(parent, MAY_EXEC, caller)
        return parent.find(name)

    def getattr(self, inode: Inode) -> Stat:
        """The attributes of an inode."""
        return inode.stat()

    def stat(self, inode: Inode, caller: Caller) -> Stat:
        """stat(2) of an inode, which asks for no permission."""
        return self.getattr(inode)

    def access(self, inode: Inode, mask: int, caller: Caller) -> None:
        """Check the MAY_ bits of `mask`. Raises EROFS, EACCES."""
        if mask & MAY_WRITE and inode.read_only and not isinstance(inode, Symlink):
            raise refuse(EROFS)
        if mask & MAY_EXEC and isinstance(inode, CgroupFile):
            raise refuse(EACCES)  # cgroup file systems are mounted noexec
        require(inode, mask, caller)

    def readlink(self, inode: Inode) -> str:
        """The target of a link. Raises EINVAL for any other inode."""
        if not isinstance(inode, Symlink):
            raise refuse(EINVAL)
        return inode.target

    def statfs(self, inode: Inode) -> StatFs:
        """The file system: cgroup2 or cgroup for a hierarchy, tmpfs for the top directory of v1."""
        cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
        if isinstance(cgroup, Cgroup):
            return StatFs(0x63677270 if cgroup.hierarchy.dfl else 0x27E0EB)
        return StatFs(0x01021994)

    # -- attributes -------------------------------------------------------------------------------

    def setattr(
        self,
        inode: Inode,
        caller: Caller,
        *,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
        size: int | None = None,
        atime: int | None = None,
        mtime: int | None = None,
        handle: OpenFile | None = None,
        chown: bool = False,
    ) -> Stat:
        """chmod, chown, truncate and utimens, all or nothing. Times are ns.

        With `handle`, the size is that of an ftruncate on this open file. `chown` marks a chown that changes no id.
        Raises EROFS, EPERM without ownership or the capability for it, EACCES for a truncate without write permission,
        and what a truncate of this inode raises.
        """
        if inode.read_only:
            raise refuse(EROFS)
        if size is not None:
            self._check_truncate(inode, size, caller, handle)
        chown = chown or uid is not None or gid is not None
        require_chown(inode, uid, gid, caller)
        if chown and not inode.is_dir and (lost := setid_bits(inode, caller)):
            mode = inode.mode & ~lost
        if mode is not None or atime is not None or mtime is not None:
            require_owner(inode, caller)
        if size is not None:
            self._lose_setid(inode, caller)
        if mode is not None:
            if mode & stat.S_ISGID and not keeps_setgid(inode, inode.gid if gid is None else gid, caller):
                mode &= ~stat.S_ISGID
            inode.mode = mode & 0o7777
        if chown:
            inode.uid = inode.uid if uid is None else uid
            inode.gid = inode.gid if gid is None else gid
        if atime is not None:
            inode.atime = atime
        if mtime is not None:
            inode.mtime = mtime
        return inode.stat()

    def _lose_setid(self, inode: Inode, caller: Caller) -> None:
        """Drop the setuid and setgid bits on a truncate without CAP_FSETID (dentry_needs_remove_privs)."""
        if inode.mode & (stat.S_ISUID | stat.S_ISGID) and not caller.capable(Capability.FSETID):
            inode.mode &= ~setid_bits(inode, caller)

    def _check_truncate(self, inode: Inode, size: int, caller: Caller, handle: OpenFile | None) -> None:
        if inode.is_dir:
            raise refuse(EISDIR)
        if handle is None:
            require(inode, MAY_WRITE, caller)
        elif handle.flags & os.O_ACCMODE == os.O_RDONLY:
            raise refuse(EINVAL)
        if size < 0:
            raise refuse(EINVAL)
        kernel = _personality(inode)
        if size > MAX_NON_LFS and kernel is not None and not kernel.at_least(7, 0):
            raise refuse(EFBIG)

    # -- making and removing ----------------------------------------------------------------------

    def mkdir(self, parent: Inode, name: str, mode: int, caller: Caller) -> Inode:
        """Make a cgroup. Raises EEXIST, ENOENT below a removed one, EACCES, then what `Hierarchy.mkdir` raises."""
        directory = self._may_create(parent, name, caller)
        return directory.hierarchy.mkdir(directory, name, mode, caller)

    def create(self, parent: Inode, name: str, mode: int, caller: Caller) -> None:
        """Refuse open(O_CREAT) of a new name: EACCES, after the checks of the path."""
        self._may_create(parent, name, caller)
        raise refuse(EACCES)

    def mknod(self, parent: Inode, name: str, mode: int, rdev: int, caller: Caller) -> None:
        """Refuse mknod(2): EACCES for a regular file, EPERM for all else, after the checks of the path."""
        self.check_node_type(mode)
        self._may_create(parent, name, caller)
        raise refuse(EACCES if stat.S_IFMT(mode) in (0, stat.S_IFREG) else EPERM)

    def check_node_type(self, mode: int) -> None:
        """Check the mode of mknod(2), before the path (may_mknod). Raises EPERM for a directory, EINVAL for no node."""
        kind = stat.S_IFMT(mode)
        if kind == stat.S_IFDIR:
            raise refuse(EPERM)
        if kind not in (0, stat.S_IFREG, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
            raise refuse(EINVAL)

    def symlink(self, parent: Inode, name: str, target: str, caller: Caller) -> None:
        """Refuse symlink(2): EPERM, after the checks of the path."""
        self._may_create(parent, name, caller)
        raise refuse(EPERM)

    def link(self, inode: Inode, parent: Inode, name: str, caller: Caller) -> None:
        """Refuse link(2).

        In this order EEXIST, EXDEV, EPERM for a file that the caller may not write (may_linkat), EACCES, EPERM.
        """
        if self.find(parent, name, caller) is not None:
            raise refuse(EEXIST)
        if _filesystem(inode) is not _filesystem(parent):
            raise refuse(EXDEV)
        safe = not inode.is_dir and permitted(inode, MAY_READ | MAY_WRITE, caller)
        if not safe:
            require_owner(inode, caller)
        self._check_create(parent, caller)
        raise refuse(EPERM)

    def rmdir(self, parent: Inode, name: str, caller: Caller) -> None:
        """Remove a cgroup. Raises ENOENT, EACCES, EPERM (sticky), ENOTDIR, EBUSY (mounted; cgroup_destroy_locked)."""
        victim = self._may_delete(parent, name, caller)
        if not isinstance(victim, Cgroup):
            raise refuse(ENOTDIR)
        if victim.parent is None:
            raise refuse(EBUSY)
        victim.hierarchy.rmdir(victim)

    def unlink(self, parent: Inode, name: str, caller: Caller) -> None:
        """Refuse unlink(2): EISDIR for a directory, EPERM for a file, EROFS for a link of the top directory."""
        victim = self._may_delete(parent, name, caller)
        if victim.is_dir:
            raise refuse(EISDIR)
        raise refuse(EROFS if victim.read_only else EPERM)

    @staticmethod
    def check_rename_flags(flags: int) -> None:
        """Check the flags of rename(2), before any path (fs/namei.c, do_renameat2). Raises EINVAL."""
        if flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT):
            raise refuse(EINVAL)
        if flags & RENAME_EXCHANGE and flags & (RENAME_NOREPLACE | RENAME_WHITEOUT):
            raise refuse(EINVAL)

    @staticmethod
    def check_same_filesystem(parent: Inode, new_parent: Inode) -> None:
        """Check that a rename stays in one hierarchy, before any name. Raises EXDEV."""
        if _filesystem(parent) is not _filesystem(new_parent):
            raise refuse(EXDEV)

    def rename(self, parent: Inode, name: str, new_parent: Inode, new_name: str, flags: int, caller: Caller) -> None:
        """rename(2) with checked flags: the checks of the VFS, then those of `Hierarchy.rename`."""
        self.check_same_filesystem(parent, new_parent)
        source = self.find(parent, name, caller)
        target = self.find(new_parent, new_name, caller)
        if source is None:
            raise refuse(ENOENT)
        if target is not None and flags & RENAME_NOREPLACE:
            raise refuse(EEXIST)
        if target is None and flags & RENAME_EXCHANGE:
            raise refuse(ENOENT)
        if isinstance(source, Cgroup) and isinstance(new_parent, Cgroup) and source in new_parent.lineage():
            raise refuse(EINVAL)
        if isinstance(target, Cgroup) and isinstance(parent, Cgroup) and target in parent.lineage():
            raise refuse(EINVAL if flags & RENAME_EXCHANGE else ENOTEMPTY)
        if source is target:
            return
        self._check_delete(parent, source, caller)
        if target is None and isinstance(new_parent, Cgroup):
            self._check_create(new_parent, caller)
        elif target is not None:
            self._check_delete(new_parent, target, caller)
            if not flags & RENAME_EXCHANGE and source.is_dir != target.is_dir:
                raise refuse(ENOTDIR if source.is_dir else EISDIR)
        if parent is not new_parent and source.is_dir:
            require(source, MAY_WRITE, caller)
        if not isinstance(parent, Cgroup):
            raise refuse(EBUSY if source.is_dir else EROFS)  # a hierarchy is mounted there
        assert isinstance(new_parent, Cgroup)
        parent.hierarchy.rename(source, parent, new_parent, new_name, flags)

    def _may_create(self, parent: Inode, name: str, caller: Caller) -> Cgroup:
        """Check that the name is free, the directory alive and writable (filename_create, may_create)."""
        if self.find(parent, name, caller) is not None:
            raise refuse(EEXIST)
        return self._check_create(parent, caller)

    def _check_create(self, parent: Inode, caller: Caller) -> Cgroup:
        if not parent.alive:
            raise refuse(ENOENT)
        require(parent, MAY_WRITE | MAY_EXEC, caller)
        if not isinstance(parent, Cgroup):
            raise refuse(EROFS)
        return parent

    def _may_delete(self, parent: Inode, name: str, caller: Caller) -> Inode:
        victim = self.lookup(parent, name, caller)
        self._check_delete(parent, victim, caller)
        return victim

    def _check_delete(self, parent: Inode, victim: Inode, caller: Caller) -> None:
        require(parent, MAY_WRITE | MAY_EXEC, caller)
        require_removable(parent, victim, caller)

    # -- contents ---------------------------------------------------------------------------------

    def open(self, inode: Inode, flags: int, caller: Caller) -> OpenFile:
        """Open an interface file. Raises EISDIR, ELOOP, ENOTDIR, EACCES, EPERM (O_NOATIME), EINVAL (O_DIRECT)."""
        if inode.is_dir:
            raise refuse(EISDIR)
        if not isinstance(inode, CgroupFile):
            raise refuse(ELOOP)
        if flags & os.O_DIRECTORY:
            raise refuse(ENOTDIR)
        mask = _ACCESS.get(flags & os.O_ACCMODE, MAY_READ | MAY_WRITE)
        if flags & os.O_TRUNC:
            mask |= MAY_WRITE
        if not permitted(inode, mask, caller):
            raise refuse(EACCES)
        if flags & os.O_NOATIME:
            require_owner(inode, caller)
        if flags & os.O_DIRECT:
            raise refuse(EINVAL)
        if flags & os.O_TRUNC:
            self._lose_setid(inode, caller)
        if inode.row.by_opener and mask & MAY_WRITE:
            caller = caller.remembered()
        return self._opened(inode, flags, caller)

    def _opened(self, inode: CgroupFile, flags: int, opener: Caller) -> OpenFile:
        return OpenFile(inode, flags, opener)

    def opendir(self, inode: Inode, caller: Caller) -> None:
        """Check that a directory may be listed. Raises ENOTDIR, EACCES without read permission."""
        if not inode.is_dir:
            raise refuse(ENOTDIR)
        require(inode, MAY_READ, caller)

    def readdir(self, inode: Inode) -> list[tuple[str, int, int]]:
        """(name, ino, S_IFMT >> 12) of every entry but `.` and `..`; none for a removed directory."""
        assert isinstance(inode, Directory)
        return inode.entries()

    def hidden(self, cgroup: Cgroup) -> Collection[str]:
        """The files of a cgroup that nobody finds yet."""
        return ()

    # -- extended attributes ----------------------------------------------------------------------

    def getxattr(self, inode: Inode, name: str, caller: Caller) -> bytes:
        """The value of an extended attribute.

        Raises ERANGE, ENODATA, EACCES, EOPNOTSUPP, EINVAL for a bare namespace and for security.capability.
        """
        xattrs.check_length(name)
        if _hidden_from(name, caller):
            raise refuse(ENODATA)
        if not name.startswith(_NOT_BY_MODE):
            require(inode, MAY_READ, caller)
        xattrs.check_name(name)
        if inode.xattrs is None:
            raise refuse(ENODATA)
        value = inode.xattrs.get(name)
        if name == xattrs.CAPABILITY:
            raise refuse(EINVAL)  # an empty one is no capability set (security/commoncap.c, cap_inode_getsecurity)
        return value

    def setxattr(self, inode: Inode, name: str, value: bytes, flags: int, caller: Caller) -> None:
        """Set an extended attribute; `flags` are XATTR_CREATE and XATTR_REPLACE.

        Raises EROFS, ERANGE, EINVAL and EOPNOTSUPP for access lists and capability sets, EPERM, EACCES, then what
        `Xattrs.set` does.
        """
        if inode.read_only:
            raise refuse(EROFS)
        kernel = _personality(inode)
        xattrs.check_length(name)
        if name in xattrs.ACCESS_LISTS and kernel is not None and kernel.at_least(6, 2):
            xattrs.refuse_access_list(value)
        if value and name == xattrs.CAPABILITY:
            raise refuse(EINVAL)  # only a capability set would do, and no file here is executable
        if name != xattrs.CAPABILITY:  # anybody may set an empty one: the kernel checks only the set that it holds
            self._may_set_xattr(inode, name, caller)
        if inode.xattrs is None:
            inode.xattrs = xattrs.Xattrs(xattrs.Order.of(kernel))
        inode.xattrs.set(name, value, flags)

    def removexattr(self, inode: Inode, name: str, caller: Caller) -> None:
        """Remove an extended attribute. Raises EROFS, ERANGE, EPERM, EACCES, EOPNOTSUPP, EINVAL, ENODATA."""
        if inode.read_only:
            raise refuse(EROFS)
        self._may_set_xattr(inode, name, caller, Capability.SETFCAP if name == xattrs.CAPABILITY else _SYS_ADMIN)
        if inode.xattrs is None:
            raise refuse(ENODATA)
        inode.xattrs.remove(name)

    def listxattr(self, inode: Inode, caller: Caller) -> list[str]:
        """The names of the extended attributes that the caller may see, in the kernel's order."""
        names = inode.xattrs.names() if inode.xattrs is not None else []
        return [name for name in names if not _hidden_from(name, caller)]

    def _may_set_xattr(self, inode: Inode, name: str, caller: Caller, security: Capability = _SYS_ADMIN) -> None:
        """Check the right to set or remove an attribute: permission first, then the name.

        `security` is the capability for security.* (fs/xattr.c, xattr_permission; security/commoncap.c,
        cap_inode_setxattr). Raises ERANGE, EPERM, EACCES, EOPNOTSUPP, EINVAL.
        """
        xattrs.check_length(name)
        if _hidden_from(name, caller):
            raise refuse(EPERM)
        if not name.startswith(_NOT_BY_MODE):
            if name.startswith("user.") and inode.is_dir and inode.mode & S_ISVTX:
                require_owner(inode, caller)
            require(inode, MAY_WRITE, caller)
        kernel = _personality(inode)
        guarded = name.startswith("security.") and not (kernel and kernel.lax_security_xattrs)
        if guarded and not caller.capable(security):
            raise refuse(EPERM)
        xattrs.check_name(name)


def _hidden_from(name: str, caller: Caller) -> bool:
    """True for trusted.*, which only CAP_SYS_ADMIN sees."""
    return name.startswith("trusted.") and not caller.capable(Capability.SYS_ADMIN)


def _personality(inode: Inode) -> Personality | None:
    """The kernel of an inode in a hierarchy; None for the top directory and its links."""
    cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
    return cgroup.hierarchy.personality if isinstance(cgroup, Cgroup) else None


def _filesystem(inode: Inode) -> object:
    """The file system of an inode: its hierarchy, or the top directory."""
    cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
    if isinstance(cgroup, Cgroup):
        return cgroup.hierarchy
    return inode if isinstance(inode, TopDirectory) else None
