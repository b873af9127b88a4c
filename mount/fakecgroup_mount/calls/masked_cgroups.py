"""Masks the machine's own cgroup file systems: an empty directory is mounted over each.

Whoever makes a mount can take it away. So the masks are mounted in a mount namespace of their own, and the command has
a copy of it that belongs to a user namespace below. There they are locked, like all mounts from above: no unmount, move
or bind mount shows what is under them (fs/namespace.c, lock_mnt_tree).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from errno import EACCES, ENOENT, ENOTDIR
from typing import TYPE_CHECKING

from fakecgroup_mount.host.mountinfo import Mount, mount_of, mounts
from fakecgroup_mount.seccomp import syscalls

if TYPE_CHECKING:
    from fakecgroup.outside.sysfs import Directory

CGROUP_ROOT = "/sys/fs/cgroup"
"""Where the command finds the tree."""

_TYPES = ("cgroup", "cgroup2")  # in mountinfo; a mount of `cpuset` is shown as `cgroup`
_MS_RDONLY, _MS_REMOUNT, _MS_BIND = 1, 32, 4096
_FLAGS = 2 | 4 | 8  # nosuid, nodev, noexec
_OUT_OF_REACH = (ENOENT, ENOTDIR, EACCES)  # below a mask, or in a directory that the user may not search


def mask(root: str, covers: Mapping[str, Directory]) -> None:
    """Masks `root`, and each cgroup file system that is mounted elsewhere. `covers` are put over directories, by their
    paths. Raises OSError.
    """
    syscalls.mount("tmpfs", root, "tmpfs", _FLAGS, "mode=755" if covers else "mode=755,size=4k,nr_inodes=3")
    if covers:
        from fakecgroup_mount.calls import covered_directories  # takes a while to load

        covered_directories.keep_sysfs(root)
        covered_directories.write(root, covers)
    directory, file = f"{root}/directory", f"{root}/file"
    os.mkdir(directory)
    os.chmod(directory, 0o755)
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    syscalls.mount(None, root, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _FLAGS)
    sources = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in (directory, file)]
    try:
        for mount in list(mounts()):
            if mount.fstype in _TYPES:
                _mask(mount, *sources)
        if covers:
            covered_directories.cover(root, covers)
        syscalls.mount(directory, root, None, _MS_BIND)
    finally:
        for source in sources:
            os.close(source)


def _mask(mount: Mount, directory: int, file: int) -> None:
    """Masks a mount if a path leads to it. Raises OSError."""
    try:
        place = os.open(mount.point, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _OUT_OF_REACH:
            return
        raise
    try:
        if mount_of(place) == mount.number:
            source = directory if stat.S_ISDIR(os.fstat(place).st_mode) else file
            syscalls.mount(f"/proc/self/fd/{source}", f"/proc/self/fd/{place}", None, _MS_BIND)
    except OSError as error:
        error.filename = mount.point
        raise
    finally:
        os.close(place)


def masked(devices: Collection[str], table: Sequence[Mount]) -> set[int]:
    """The numbers of the masks in a table of mounts, and of the mounts that they hide.

    `devices` are those of the masks' file systems ("0:42").
    """
    masks = {mount.number for mount in table if mount.device in devices}
    below = {(mount.parent, mount.point) for mount in table if mount.number in masks}
    more = found = {mount.number for mount in table if (mount.number, mount.point) in below}
    while more:
        more = {mount.number for mount in table if mount.parent in more} - masks - found
        found |= more
    return found | masks
