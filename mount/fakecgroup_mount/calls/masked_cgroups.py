"""What lies over the machine's own cgroup file systems: an empty directory, as below those of a machine.

Whoever makes a mount can take it away. So the covers are made in a mount namespace of their own, and the command has a
copy of it that belongs to a user namespace below. There they are locked, like all that came from above: no unmount,
move or bind shows what is under them (fs/namespace.c, lock_mnt_tree).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from errno import EACCES, ENOENT, ENOTDIR

from fakecgroup_mount.host.mountinfo import Mount, mount_of, mounts
from fakecgroup_mount.seccomp import syscalls

CGROUP_ROOT = "/sys/fs/cgroup"  # where the tree is, for the command
_TYPES = ("cgroup", "cgroup2")  # as mountinfo has them; what is mounted as `cpuset` is shown as the first
_MS_RDONLY, _MS_REMOUNT, _MS_BIND = 1, 32, 4096
_FLAGS = 2 | 4 | 8  # nosuid, nodev, noexec
_OUT_OF_REACH = (ENOENT, ENOTDIR, EACCES)  # below a cover, or where the user may not go


def mask(root: str) -> None:
    """Covers `root`, and each cgroup file system that is mounted elsewhere. Raises OSError."""
    syscalls.mount("tmpfs", root, "tmpfs", _FLAGS, "mode=755,size=4k,nr_inodes=3")
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
        syscalls.mount(directory, root, None, _MS_BIND)
    finally:
        for source in sources:
            os.close(source)


def _mask(mount: Mount, directory: int, file: int) -> None:
    """Covers a mount, where a path leads to it. Raises OSError."""
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


def masked(device: str, table: Sequence[Mount]) -> set[int]:
    """The numbers of the covers in a table of mounts, which are of the file system `device` ("0:42"), and of what
    nobody can reach for them.
    """
    covers = {mount.number for mount in table if mount.device == device}
    below = {(mount.parent, mount.point) for mount in table if mount.number in covers}
    more = found = {mount.number for mount in table if (mount.number, mount.point) in below}
    while more:
        more = {mount.number for mount in table if mount.parent in more} - covers - found
        found |= more
    return found | covers
