"""IN_MODIFY for a file that changes by itself, as kernfs_notify(9) makes it for cgroup.events and its like.

inotify(7) tells only of what is done through the VFS, so the daemon does something: it truncates the file, by path,
which is no event but this one and means nothing to a cgroup file.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.kernfs.inode import TopDirectory
from fakecgroup_mount.host.file_table import unshare_files


class ModifyEvents:
    """Tells watchers of files in the mount at `path`, from a thread of its own, as the server must answer meanwhile.

    Changes that come while one is told are told once. `nodes` says how many nodes a file has: each may be watched, and
    each LOOKUP by `tid` gives the next one.
    """

    def __init__(self, path: str, kernel: Kernel, nodes: Callable[[CgroupFile], int]) -> None:
        self.tid = 0
        """The thread's number, once it runs."""
        self._path = path
        self._nodes = nodes
        self._kernel = kernel
        self._waiting: dict[CgroupFile, None] = {}
        self._queue: SimpleQueue[CgroupFile] | None = None

    def add(self, file: CgroupFile) -> None:
        """The file has changed."""
        if file in self._waiting:
            return
        self._waiting[file] = None
        if self._queue is None:
            queue: SimpleQueue[CgroupFile] = SimpleQueue()
            try:
                threading.Thread(target=self._tell, args=(queue,), daemon=True).start()
            except RuntimeError:  # no more threads: nobody is told
                self._waiting.clear()
                return
            self._queue = queue
        self._queue.put(file)

    def _tell(self, changed: SimpleQueue[CgroupFile]) -> None:
        unshare_files()
        self.tid = threading.get_native_id()
        while True:
            file = changed.get()
            self._waiting.pop(file, None)
            with contextlib.suppress(OSError):  # removed or unmounted meanwhile
                for _ in range(self._nodes(file)):
                    os.truncate(self._path_of(file), 0)

    def _path_of(self, file: CgroupFile) -> str:
        """Raises FileNotFoundError for a file that is gone."""
        if not file.alive:
            raise FileNotFoundError(file.row.name)
        return f"{self._path}{self._mounted(file.cgroup)}{file.cgroup.path}/{file.row.name}"

    def _mounted(self, cgroup: Cgroup) -> str:
        """Where its hierarchy is, below the mount: "" on v2."""
        top = self._kernel.root
        if not isinstance(top, TopDirectory):
            return ""
        return next(f"/{name}" for name, inode in top.content.items() if inode is cgroup.hierarchy.root)
