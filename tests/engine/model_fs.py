"""The model of the kernel behind the engine."""

from __future__ import annotations

import stat

from cgroup_engine.tree.fs import CgroupFs
from fakecgroup.kernel import Kernel


class ModelFs(CgroupFs):
    """A ``fakecgroup.Kernel`` as the engine's file system."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def mkdir(self, path: str) -> None:
        self.kernel.mkdir(f"/{path}")

    def rmdir(self, path: str) -> None:
        self.kernel.rmdir(f"/{path}")

    def read(self, path: str) -> str:
        return self.kernel.read(f"/{path}")

    def write(self, path: str, data: str) -> None:
        self.kernel.write(f"/{path}", data)

    def listdir(self, path: str) -> list[str]:
        return self.kernel.listdir(f"/{path}")

    def is_dir(self, path: str) -> bool:
        try:
            return stat.S_ISDIR(self.kernel.stat(f"/{path}").mode)
        except OSError:
            return False
