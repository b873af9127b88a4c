"""Access to a cgroup file system: the calls that the engine makes, and the operating system behind them.

Paths are relative to the cgroup root, which is "". Every call raises ``OSError`` with the kernel's errno. Another
implementation can take the operating system's place, such as a model of the kernel in the same process.
"""

from __future__ import annotations

import os
import stat
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from errno import EEXIST, ENODEV, ENOENT
from typing import Protocol, TypeVar

from cgroup_engine.tree.entries import directories_and_links
from cgroup_engine.tree.plain_path import PLACE, PlainPaths

_T = TypeVar("_T")

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
_MOST_PARENTS = 256


class OsFs(CgroupFs):
    """The operating system's files below ``root``, which may be a symbolic link itself.

    Below it no symbolic link is followed (ELOOP), but for those directly below the root that lead to a sibling, as a v1
    layout has ``cpu -> cpu,cpuacct``.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._paths = PlainPaths(self.root)
        self._parents: dict[str, int] | None = None
        self._counting: set[int] = set()  # devices of which a directory's link count is 2 and its directories
        self._most_parents = _MOST_PARENTS

    def mkdir(self, path: str) -> None:
        try:
            self._in_parent(path, lambda name, parent: os.mkdir(name, 0o755, dir_fd=parent))
        except FileExistsError:
            if self._paths.is_link(path):
                raise FileExistsError(EEXIST, "it is a symbolic link", path) from None
            raise

    def rmdir(self, path: str) -> None:
        self._in_parent(path, lambda name, parent: os.rmdir(name, dir_fd=parent))

    def read(self, path: str) -> str:
        handle = self._paths.open(path, os.O_RDONLY)
        try:
            return _text(handle)
        finally:
            os.close(handle)

    def write(self, path: str, data: str) -> None:
        handle = self._paths.open(path, os.O_WRONLY)
        try:
            os.write(handle, data.encode())
        finally:
            os.close(handle)

    def write_and_read(self, path: str, data: str) -> str:
        """Uses one descriptor: a read at offset 0 makes the kernel produce the text anew (seq_read_iter)."""
        handle = self._paths.open(path, os.O_RDWR)
        try:
            os.write(handle, data.encode())
            return _text(handle)
        finally:
            os.close(handle)

    def listdir(self, path: str) -> list[str]:
        handle = self._paths.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return os.listdir(handle)
        finally:
            os.close(handle)

    def subdirectories(self, path: str) -> list[str]:
        handle = self._paths.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            names, links = directories_and_links(handle)
            if names:
                self._learn_counting(os.fstat(handle), len(names))
        finally:
            os.close(handle)
        if not path:
            names += [link for link in links if self._paths.sibling(link) in names]
        return names

    def has_just(self, path: str, names: Collection[str]) -> bool:
        """Are these the directories in it? False may mean that only a list can tell.

        The link count says how many there are (kernfs_refresh_inode), if that of a listed directory was right.
        """
        try:
            return self._in_parent(path, lambda name, parent: self._has_just(name, parent, names))
        except OSError:
            return False

    def _has_just(self, directory: str, parent: int, names: Collection[str]) -> bool:
        found = os.stat(directory, dir_fd=parent, follow_symlinks=False)
        return (
            found.st_dev in self._counting
            and stat.S_ISDIR(found.st_mode)
            and found.st_nlink == 2 + len(names)
            and all(_is_directory(f"{directory}/{name}", parent) for name in names)
        )

    def _learn_counting(self, found: os.stat_result, directories: int) -> None:
        if found.st_nlink == 2 + directories:
            self._counting.add(found.st_dev)
        else:
            self._counting.discard(found.st_dev)

    def is_dir(self, path: str) -> bool:
        try:
            os.close(self._paths.open(path, PLACE))
        except OSError:
            return False
        return True

    def stat(self, path: str) -> os.stat_result:
        """The status of a cgroup's directory."""
        handle = self._paths.open(path, PLACE)
        try:
            return os.fstat(handle)
        finally:
            os.close(handle)

    def open(self, path: str, flags: int) -> int:
        """A descriptor of a file, for a lock."""
        return self._paths.open(path, flags)

    @contextmanager
    def parents_kept_open(self) -> Iterator[None]:
        """A context in which the directories of mkdir, rmdir and ``has_just`` stay open for the next one there."""
        import resource  # plan and explain compute without the modules of Linux

        few = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4
        self._most_parents = min(_MOST_PARENTS, few) if few > 0 else _MOST_PARENTS
        outer, self._parents = self._parents, {}
        try:
            yield
        finally:
            _close_all(self._parents.values())
            self._parents = outer

    def _in_parent(self, path: str, change: Callable[[str, int], _T]) -> _T:
        above, _, name = path.rpartition("/")
        kept = self._parents.get(above) if self._parents is not None else None
        if kept is not None:
            try:
                return change(name, kept)
            except OSError as failed:
                if failed.errno not in (ENODEV, ENOENT):  # another directory may be there by now
                    raise
        parent = self._paths.open(above, PLACE)
        try:
            return change(name, parent)
        finally:
            self._leave(above, parent)

    def _leave(self, path: str, parent: int) -> None:
        if self._parents is None:
            os.close(parent)
            return
        if len(self._parents) >= self._most_parents or path in self._parents:
            _close_all(self._parents.values())
            self._parents.clear()
        self._parents[path] = parent


def has_just(fs: CgroupFs, path: str, names: Collection[str]) -> bool:
    """Are these the directories in a cgroup? It takes fewer system calls than a list; False means: list it."""
    return isinstance(fs, OsFs) and fs.has_just(path, names)


@contextmanager
def many_calls(fs: CgroupFs) -> Iterator[None]:
    """A context in which mkdir, rmdir and ``has_just`` take fewer system calls."""
    with fs.parents_kept_open() if isinstance(fs, OsFs) else nullcontext():
        yield


def _is_directory(path: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _close_all(handles: Iterable[int]) -> None:
    """Closes descriptors, and those that follow one another in one call (close_range(2))."""
    rest = sorted(handles)
    while rest:
        count = next((at for at, handle in enumerate(rest) if handle != rest[0] + at), len(rest))
        os.closerange(rest[0], rest[0] + count)
        rest = rest[count:]


def _text(handle: int) -> str:
    """The whole text of a file."""
    data = chunk = os.pread(handle, _PAGE, 0)
    while len(chunk) >= _PAGE // 2:
        chunk = os.pread(handle, _PAGE, len(data))
        data += chunk
    return data.decode("utf-8", "replace")
