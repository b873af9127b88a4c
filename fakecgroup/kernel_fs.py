"""A kernel's files for programs that work on a cgroup root through a few calls, such as cgroup-engine."""

from __future__ import annotations

import stat

from fakecgroup.kernel import Kernel


class KernelFs:
    """The files of a `Kernel` as text, by paths relative to the root, which is "".

    It has the calls of cgroup_engine's ``CgroupFs``, so the engine works on a model as on a mounted tree. Every call is
    root's and raises ``OSError`` with the kernel's errno.

    >>> fs = KernelFs(Kernel(kernel="6.12"))
    >>> fs.write("cgroup.subtree_control", "+pids")
    >>> fs.mkdir("app")
    >>> fs.write_and_read("app/pids.max", "20")
    '20\\n'
    >>> fs.subdirectories("")
    ['app']
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def mkdir(self, path: str) -> None:
        """Makes a cgroup."""
        self.kernel.mkdir(f"/{path}")

    def rmdir(self, path: str) -> None:
        """Removes a cgroup."""
        self.kernel.rmdir(f"/{path}")

    def read(self, path: str) -> str:
        """The text of an interface file."""
        return self.kernel.read(f"/{path}")

    def write(self, path: str, data: str) -> None:
        """Writes a value in one write(2)."""
        self.kernel.write(f"/{path}", data)

    def write_and_read(self, path: str, data: str) -> str:
        """``write``, and then ``read``."""
        self.write(path, data)
        return self.read(path)

    def listdir(self, path: str) -> list[str]:
        """The names in a cgroup's directory."""
        return self.kernel.listdir(f"/{path}")

    def subdirectories(self, path: str) -> list[str]:
        """The names of its child cgroups."""
        return [name for name in self.listdir(path) if self.is_dir(f"{path}/{name}" if path else name)]

    def is_dir(self, path: str) -> bool:
        """Is there a cgroup, or on v1 a hierarchy?"""
        try:
            return stat.S_ISDIR(self.kernel.stat(f"/{path}").mode)
        except OSError:
            return False
