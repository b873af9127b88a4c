"""Access to a cgroup file system: the few calls the engine makes, and the operating system as their default.

Paths are relative to the cgroup root, "" being the root itself. Everything raises ``OSError`` with the kernel's
errno. Another implementation can stand behind the engine, such as a model of the kernel in the same process.
"""

from __future__ import annotations

import os
import stat
from typing import Protocol


class CgroupFs(Protocol):
    """What the engine needs of a cgroup file system."""

    def mkdir(self, path: str) -> None:
        """Makes a cgroup."""

    def rmdir(self, path: str) -> None:
        """Removes a cgroup."""

    def read(self, path: str) -> str:
        """The text of an interface file."""

    def write(self, path: str, data: str) -> None:
        """Writes a value in one write(2), without creating the file."""

    def listdir(self, path: str) -> list[str]:
        """The names in a cgroup's directory."""

    def is_dir(self, path: str) -> bool:
        """Is there a directory? A symbolic link to one counts only directly below the root."""


class OsFs:
    """The operating system's files below ``root``.

    Symbolic links are followed directly below the root only, where a v1 layout has ``cpu -> cpu,cpuacct``, and only
    to a sibling.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def mkdir(self, path: str) -> None:
        os.mkdir(self._absolute(path), 0o755)

    def rmdir(self, path: str) -> None:
        os.rmdir(self._absolute(path))

    def read(self, path: str) -> str:
        handle = os.open(self._absolute(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with open(handle, encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, path: str, data: str) -> None:
        handle = os.open(self._absolute(path), os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.write(handle, data.encode())
        finally:
            os.close(handle)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(self._absolute(path))

    def is_dir(self, path: str) -> bool:
        absolute = self._absolute(path)
        if "/" not in path and os.path.islink(absolute):
            target = os.path.realpath(absolute)
            return os.path.dirname(target) == self.root and os.path.isdir(target)
        try:
            return stat.S_ISDIR(os.lstat(absolute).st_mode)
        except OSError:
            return False

    def _absolute(self, path: str) -> str:
        return os.path.join(self.root, path) if path else self.root
