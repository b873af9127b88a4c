"""Errnos that a kernel's source shows and that no recording can have: a lack of memory, a signal, a busy machine.

Each row names the function that returns the errno. They were read in the sources of 5.10, 6.1, 6.12 and 7.2; `since`
is the first of these that has it, `until` the first that no longer has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import EBUSY, EINTR, EMFILE, ENFILE, ENODEV, ENOMEM, ENOSPC, EROFS
from fnmatch import fnmatchcase

from ..machine.personality import Version
from ..named_tuple import NamedTuple


class SourceErrno(NamedTuple):
    """`op` on a file whose name is like `name` can give `errno` in `function`, where there is this controller."""

    op: str
    name: str
    errno: int
    function: str
    since: Version = (5, 10)
    until: Version | None = None
    controller: str | None = None


SOURCE_ERRNOS = (
    SourceErrno("open", "*", ENOMEM, "fs/kernfs/file.c, kernfs_fop_open"),
    SourceErrno("open", "*", ENODEV, "fs/kernfs/file.c, kernfs_fop_open"),
    SourceErrno("open", "*", EMFILE, "fs/file.c, alloc_fd"),
    SourceErrno("open", "*", ENFILE, "fs/file_table.c, alloc_empty_file"),
    SourceErrno("open", "*", EROFS, "fs/namei.c, sb_permission"),
    SourceErrno("read", "*", ENOMEM, "fs/seq_file.c, seq_read_iter"),
    SourceErrno("write", "*", ENOMEM, "fs/kernfs/file.c, kernfs_fop_write_iter"),
    SourceErrno("write", "memory.limit_in_bytes", EINTR, "mm/memcontrol-v1.c, mem_cgroup_resize_max"),
    SourceErrno("write", "memory.limit_in_bytes", EBUSY, "mm/memcontrol-v1.c, mem_cgroup_resize_max"),
    SourceErrno("write", "memory.memsw.limit_in_bytes", EINTR, "mm/memcontrol-v1.c, mem_cgroup_resize_max"),
    SourceErrno("write", "memory.memsw.limit_in_bytes", EBUSY, "mm/memcontrol-v1.c, mem_cgroup_resize_max"),
    SourceErrno("write", "memory.force_empty", EINTR, "mm/memcontrol-v1.c, mem_cgroup_force_empty"),
    SourceErrno(
        "write", "memory.reclaim", EINTR, "mm/memcontrol.c, memory_reclaim; mm/vmscan.c, user_proactive_reclaim", (6, 1)
    ),
    *(
        SourceErrno(op, name, errno, f"mm/memcontrol.c, mem_cgroup_alloc ({function})", since, until, "memory")
        for op, name in (("mkdir", "*"), ("write", "cgroup.subtree_control"))
        for errno, function, since, until in (
            (ENOSPC, "idr_alloc", (5, 10), (6, 12)),
            (EBUSY, "xa_alloc", (6, 12), None),
        )
    ),
    SourceErrno("stat", "*", ENOMEM, "fs/kernfs/inode.c, kernfs_get_inode"),
    SourceErrno("mkdir", "*", ENOMEM, "kernel/cgroup/cgroup.c, cgroup_create"),
    SourceErrno("mkdir", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("rmdir", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("rename", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("rename", "*", ENOMEM, "fs/kernfs/dir.c, kernfs_rename_ns"),
    SourceErrno("truncate", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("chmod", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("chmod", "*", ENOMEM, "fs/kernfs/inode.c, __kernfs_setattr"),
    SourceErrno("chown", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("chown", "*", ENOMEM, "fs/kernfs/inode.c, __kernfs_setattr"),
    SourceErrno("utimens", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("utimens", "*", ENOMEM, "fs/kernfs/inode.c, __kernfs_setattr"),
    SourceErrno("setxattr", "*", EROFS, "fs/namespace.c, mnt_want_write"),
    SourceErrno("setxattr", "*", ENOMEM, "fs/kernfs/inode.c, kernfs_xattr_set"),
    SourceErrno("removexattr", "*", EROFS, "fs/namespace.c, mnt_want_write"),
)


def from_source(op: str, file: str | None, version: Version, controllers: frozenset[str]) -> Iterator[SourceErrno]:
    """The rows for an operation on a file with this name in a kernel with these controllers; None is any file."""
    for row in SOURCE_ERRNOS:
        if (
            row.op == op
            and row.since <= version
            and (row.until is None or version < row.until)
            and (file is None or fnmatchcase(file, row.name))
            and (row.controller is None or row.controller in controllers)
        ):
            yield row
