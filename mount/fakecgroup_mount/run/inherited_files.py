"""Checks the working directory and the open files that the command inherits, which may lead to the machine's cgroups.

A descriptor belongs to the mount namespace in which it was opened, where nothing is covered. A directory leads anywhere
in that namespace, so each one is opened again in the command's own namespace.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Collection
from typing import NoReturn

from fakecgroup_mount.calls.masked_cgroups import masked
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import quoted
from fakecgroup_mount.host.mountinfo import mount_of, mounts
from fakecgroup_mount.seccomp.process import statfs_type

_CGROUP = (0x27E0EB, 0x63677270)  # CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC
_LEADS_ON = ("[fanotify]", "[fscontext]", "[io_uring]")  # anonymous inodes through which other files are opened
_KEPT = os.O_PATH | os.O_DIRECTORY | os.O_NONBLOCK  # flags that a directory keeps


def check(covers: Collection[str]) -> None:
    """Opens inherited directories again. Raises MountError for a file that leads to the machine's cgroups.

    `covers` are the devices of the covers over them.
    """
    _check_directory(covers)
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
        try:
            inherited = os.get_inheritable(fd)
        except OSError:  # the descriptor of the listing itself
            continue
        if inherited:
            _check_file(fd)


def _check_directory(covers: Collection[str]) -> None:
    here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        table = list(mounts())
        number = mount_of(here)
        if number in {mount.number for mount in table} - masked(covers, table) and not _is_cgroup(here):
            return
        where = os.readlink(f"/proc/self/fd/{here}")
    finally:
        os.close(here)
    raise MountError(
        f"the working directory {quoted(where)} is the machine's own, which the command shall not find: cd / first"
    )


def _check_file(fd: int) -> None:
    where = os.readlink(f"/proc/self/fd/{fd}")
    if _is_cgroup(fd):
        _refuse(fd, where, "is of the machine's own cgroups")
    if where.startswith("anon_inode:") and where.removeprefix("anon_inode:") in _LEADS_ON:
        _refuse(fd, where, "leads out of the command's namespaces")
    try:
        directory = stat.S_ISDIR(os.fstat(fd).st_mode)
    except PermissionError:  # a FUSE file system of another user namespace: no path leads through it
        return
    if directory:
        _open_anew(fd, where)


def _open_anew(fd: int, where: str) -> None:
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    try:
        new = os.open(where, flags & _KEPT | os.O_CLOEXEC)
    except OSError as error:
        _refuse(fd, where, f"cannot be opened anew in the command's namespaces ({error.strerror})")
    try:
        if not os.path.sameopenfile(fd, new):
            _refuse(fd, where, "is another directory in the command's namespaces")
        if not flags & os.O_PATH:
            os.lseek(new, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(new, fd)
    finally:
        os.close(new)


def _is_cgroup(fd: int) -> bool:
    return statfs_type(fd) in _CGROUP


def _refuse(fd: int, where: str, why: str) -> NoReturn:
    raise MountError(f"file descriptor {fd}, {quoted(where)}, {why}: close it ({fd}<&-)")
