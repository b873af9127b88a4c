"""The kernel's functions behind operations that read and write no file, by the operation's name."""

from __future__ import annotations

from ...named_tuple import NamedTuple


class Handler(NamedTuple):
    """Functions, and the kernel's source that has them, as in 6.1."""

    names: tuple[str, ...]
    source: str


_CGROUP = "kernel/cgroup/cgroup.c"
_SETATTR = Handler(("kernfs_iop_setattr",), "fs/kernfs/inode.c")
_GETATTR = Handler(("kernfs_iop_getattr",), "fs/kernfs/inode.c")
_READDIR = Handler(("kernfs_fop_readdir",), "fs/kernfs/dir.c")
_SET_XATTR = Handler(("kernfs_vfs_xattr_set", "kernfs_vfs_user_xattr_set"), "fs/kernfs/inode.c")
_FORK = Handler(("cgroup_can_fork",), _CGROUP)
_RENAME_V1 = Handler(("cgroup1_rename",), "kernel/cgroup/cgroup-v1.c")

_HANDLERS = {
    "mkdir": Handler(("cgroup_mkdir",), _CGROUP),
    "rmdir": Handler(("cgroup_rmdir",), _CGROUP),
    "rename": Handler(("kernfs_iop_rename",), "fs/kernfs/dir.c"),
    "fork": _FORK,
    "thread": _FORK,
    "clone_into": Handler(("cgroup_css_set_fork",), _CGROUP),
    "open": Handler(("kernfs_fop_open",), "fs/kernfs/file.c"),
    "poll": Handler(("kernfs_fop_poll", "cgroup_file_poll"), "fs/kernfs/file.c"),
    "ready": Handler(("kernfs_fop_poll", "cgroup_file_poll"), "fs/kernfs/file.c"),
    "watch": Handler(("kernfs_notify",), "fs/kernfs/file.c"),
    "listdir": _READDIR,
    "listraw": _READDIR,
    "stat": _GETATTR,
    "fstat": _GETATTR,
    "mtime": _GETATTR,
    "chmod": _SETATTR,
    "chown": _SETATTR,
    "utimens": _SETATTR,
    "access": Handler(("kernfs_iop_permission",), "fs/kernfs/inode.c"),
    "setxattr": _SET_XATTR,
    "removexattr": _SET_XATTR,
    "getxattr": Handler(("kernfs_vfs_xattr_get",), "fs/kernfs/inode.c"),
    "listxattr": Handler(("kernfs_iop_listxattr",), "fs/kernfs/inode.c"),
    "proc": Handler(("proc_cgroup_show",), _CGROUP),
}


def handler_of(operation: str, *, dfl: bool) -> Handler | None:
    """Of an operation by its name, in the unified hierarchy (`dfl`) or on v1. None if it is not known."""
    if operation == "rename" and not dfl:
        return _RENAME_V1
    return _HANDLERS.get(operation)
