"""Access to a cgroup file system: the calls that the engine makes, and the operating system behind them.

Paths are relative to the cgroup root, which is "". Every call raises ``OSError`` with the kernel's errno. Another
implementation can take the operating system's place, such as a model of the kernel in the same process.
"""

from __future__ import annotations

import os
import stat
from abc import abstractmethod
from collections.abc import Iterator
from typing import Protocol

#: Where a machine has its own cgroup tree, which a running systemd manages.
MACHINE_ROOT = "/sys/fs/cgroup"


class CgroupFs(Protocol):
    """The calls that the engine makes. A class that inherits from this one gets those that others can express."""

    @abstractmethod
    def mkdir(self, path: str) -> None:
        """Makes a cgroup."""

    @abstractmethod
    def rmdir(self, path: str) -> None:
        """Removes a cgroup."""

    @abstractmethod
    def read(self, path: str) -> str:
        """The text of an interface file."""

    @abstractmethod
    def write(self, path: str, data: str) -> None:
        """Writes a value in one write(2), without creating the file."""

    def write_and_read(self, path: str, data: str) -> str:
        """``write``, and then ``read``."""
        self.write(path, data)
        return self.read(path)

    @abstractmethod
    def listdir(self, path: str) -> list[str]:
        """The names in a cgroup's directory."""

    def subdirectories(self, path: str) -> list[str]:
        """The names of the directories in it, which are its child cgroups."""
        return [name for name in self.listdir(path) if self.is_dir(f"{path}/{name}" if path else name)]

    @abstractmethod
    def is_dir(self, path: str) -> bool:
        """Is there a directory? A symbolic link to one counts only directly below the root."""


def cgroups_at(fs: CgroupFs, path: str) -> Iterator[str]:
    """A cgroup and all below it, parents first, without those that are gone or cannot be listed."""
    try:
        names = fs.subdirectories(path)
    except OSError:
        return
    yield path
    for name in names:
        yield from cgroups_at(fs, f"{path}/{name}" if path else name)


# kernfs fills a page, and stops before a record that does not fit. Each record is shorter than half a page.
_PAGE = 4096  # bytes


class OsFs(CgroupFs):
    """The operating system's files below ``root``.

    Symbolic links are followed directly below the root only, where a v1 layout has ``cpu -> cpu,cpuacct``, and only
    to a sibling.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._prefix = os.path.join(self.root, "")

    def mkdir(self, path: str) -> None:
        os.mkdir(self._prefix + path, 0o755)

    def rmdir(self, path: str) -> None:
        os.rmdir(self._prefix + path)

    def read(self, path: str) -> str:
        handle = os.open(self._prefix + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return _text(handle)
        finally:
            os.close(handle)

    def write(self, path: str, data: str) -> None:
        handle = os.open(self._prefix + path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.write(handle, data.encode())
        finally:
            os.close(handle)

    def write_and_read(self, path: str, data: str) -> str:
        """Uses one descriptor: a read at offset 0 makes the kernel produce the text anew (seq_read_iter)."""
        handle = os.open(self._prefix + path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.write(handle, data.encode())
            return _text(handle)
        finally:
            os.close(handle)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(self._prefix + path)

    def subdirectories(self, path: str) -> list[str]:
        with os.scandir(self._prefix + path) as entries:
            return [
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or (not path and entry.is_symlink() and self.is_dir(entry.name))
            ]

    def is_dir(self, path: str) -> bool:
        absolute = self._prefix + path
        if "/" not in path and os.path.islink(absolute):
            target = os.path.realpath(absolute)
            return os.path.dirname(target) == self.root and os.path.isdir(target)
        try:
            return stat.S_ISDIR(os.lstat(absolute).st_mode)
        except OSError:
            return False


def _text(handle: int) -> str:
    """The whole text of a file."""
    data = chunk = os.pread(handle, _PAGE, 0)
    while len(chunk) >= _PAGE // 2:
        chunk = os.pread(handle, _PAGE, len(data))
        data += chunk
    return data.decode("utf-8", "replace")
