"""The model of the kernel behind the engine."""

from __future__ import annotations

import stat

from cgroup_engine.tree.fs import CgroupFs


class ModelFs(CgroupFs):
    """A ``fakecgroup.Kernel`` as the engine's file system."""

    def __init__(self, kernel):
        self.kernel = kernel

    def mkdir(self, path):
        self.kernel.mkdir(f"/{path}")

    def rmdir(self, path):
        self.kernel.rmdir(f"/{path}")

    def read(self, path):
        return self.kernel.read(f"/{path}")

    def write(self, path, data):
        self.kernel.write(f"/{path}", data)

    def listdir(self, path):
        return self.kernel.listdir(f"/{path}")

    def is_dir(self, path):
        try:
            return stat.S_ISDIR(self.kernel.stat(f"/{path}").mode)
        except OSError:
            return False
