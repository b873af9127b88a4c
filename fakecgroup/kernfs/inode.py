"""Inodes: files, directories and links.

An attribute is stored only once it differs from the kernel's default. An inode that is removed, with its cgroup or its
controller, stays dead (`alive` is false): a new directory of the same name is another inode (kernfs, KERNFS_ACTIVE).
"""

from __future__ import annotations

import stat

from ..named_tuple import NamedTuple
from .xattrs import Xattrs

DT_DIR = stat.S_IFDIR >> 12  # <dirent.h>
DT_REG = stat.S_IFREG >> 12


class Stat(NamedTuple):
    """The attributes that stat(2) shows; times in ns."""

    ino: int
    mode: int
    nlink: int
    uid: int
    gid: int
    size: int
    atime: int
    mtime: int
    ctime: int
    blksize: int = 4096
    blocks: int = 0


class Inode:
    """A file, directory or link: everything that has attributes."""

    ino: int
    format: int = stat.S_IFREG
    is_dir: bool = False
    mode: int = 0o644  # permission bits, 07777
    uid: int = 0
    gid: int = 0
    atime: int = 0  # ns
    mtime: int = 0
    ctime: int = 0
    xattrs: Xattrs | None = None
    read_only: bool = False  # EROFS for every change

    def __init__(self, ino: int, now: int) -> None:
        self.ino = ino
        self.atime = self.mtime = self.ctime = now

    @property
    def alive(self) -> bool:
        return True

    @property
    def nlink(self) -> int:
        return 1

    def stat(self) -> Stat:
        return Stat(
            self.ino, self.format | self.mode, self.nlink, self.uid, self.gid, 0, self.atime, self.mtime, self.ctime
        )


class Directory(Inode):
    """A directory: the top of a v1 layout, or a cgroup."""

    format = stat.S_IFDIR
    is_dir = True
    mode = 0o755

    def find(self, name: str) -> Inode | None:
        """The entry `name`, or None."""
        raise NotImplementedError

    def entries(self) -> list[tuple[str, int, int]]:
        """(name, ino, DT_ type) of each entry, in the order of readdir."""
        raise NotImplementedError


class Symlink(Inode):
    """A symbolic link: `cpu` and `cpuacct` beside `cpu,cpuacct`."""

    format = stat.S_IFLNK
    mode = 0o777
    read_only = True

    def __init__(self, ino: int, now: int, target: str) -> None:
        super().__init__(ino, now)
        self.target = target

    def stat(self) -> Stat:
        return super().stat()._replace(size=len(self.target))


class TopDirectory(Directory):
    """The tmpfs that systemd mounts at /sys/fs/cgroup for v1, with a directory per hierarchy.

    Nothing can be made or removed in it: EROFS, as under systemd, which remounts it read-only once it is filled. The
    hierarchies answer as mount points (EBUSY, EISDIR), as in the tmpfs of a container, which stays writable.
    """

    read_only = True

    def __init__(self, ino: int, now: int) -> None:
        super().__init__(ino, now)
        self.content: dict[str, Inode] = {}

    def find(self, name: str) -> Inode | None:
        return self.content.get(name)

    def entries(self) -> list[tuple[str, int, int]]:
        return [(name, inode.ino, inode.format >> 12) for name, inode in self.content.items()]

    @property
    def nlink(self) -> int:
        return 2 + sum(inode.is_dir for inode in self.content.values())

    def stat(self) -> Stat:
        """Attributes with a size of 20 bytes per entry, . and .. too (mm/shmem.c, BOGO_DIRENT_SIZE)."""
        return super().stat()._replace(size=20 * (2 + len(self.content)))
