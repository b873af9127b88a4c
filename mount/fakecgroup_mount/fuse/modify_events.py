"""inotify's IN_MODIFY for a file that changes by itself, as kernfs_notify(9) makes it for cgroup.events.

inotify(7) reports only what is done through the VFS. So the daemon truncates the file, by path. That makes this one
event, and a cgroup file ignores it.
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
    """Reports changes to watchers of files in the mount at `path`.

    A thread of its own does this, as the server must answer the truncation. Several changes before a report make one
    event. `number_of_nodes` gives the number of a file's nodes. Each of them may be watched, and each LOOKUP by the
    thread `tid` gives the next one.
    """

    def __init__(self, path: str, kernel: Kernel, number_of_nodes: Callable[[CgroupFile], int]) -> None:
        self.tid = 0
        """The number of the thread, once it runs."""
        self._path = path
        self._number_of_nodes = number_of_nodes
        self._kernel = kernel
        self._changed: dict[CgroupFile, None] = {}
        self._queue: SimpleQueue[CgroupFile] | None = None

    def add(self, file: CgroupFile) -> None:
        """The file has changed."""
        if file in self._changed:
            return
        self._changed[file] = None
        if self._queue is None:
            queue: SimpleQueue[CgroupFile] = SimpleQueue()
            try:
                threading.Thread(target=self._tell, args=(queue,), daemon=True).start()
            except RuntimeError:  # no thread can be started: watchers miss the event
                self._changed.clear()
                return
            self._queue = queue
        self._queue.put(file)

    def _tell(self, changed: SimpleQueue[CgroupFile]) -> None:
        unshare_files()
        self.tid = threading.get_native_id()
        while True:
            file = changed.get()
            self._changed.pop(file, None)
            with contextlib.suppress(OSError):  # removed or unmounted meanwhile
                for _ in range(self._number_of_nodes(file)):
                    os.truncate(self._path_of(file), 0)

    def _path_of(self, file: CgroupFile) -> str:
        """Raises FileNotFoundError for a removed file."""
        if not file.alive:
            raise FileNotFoundError(file.row.name)
        return f"{self._path}{self._hierarchy_path(file.cgroup)}{file.cgroup.path}/{file.row.name}"

    def _hierarchy_path(self, cgroup: Cgroup) -> str:
        """The directory of a cgroup's hierarchy below the mount: "" on v2."""
        top = self._kernel.root
        if not isinstance(top, TopDirectory):
            return ""
        return next(f"/{name}" for name, inode in top.content.items() if inode is cgroup.hierarchy.root)
