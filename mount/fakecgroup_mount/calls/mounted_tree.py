"""The mounted tree for the handlers: its files, their cgroups, and the threads in them."""

from __future__ import annotations

import os
from collections.abc import Callable

from fakecgroup import Caller, Kernel, TaskInfo
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.kernfs.inode import Inode, TopDirectory
from fakecgroup_mount.calls.mount_sources import MountSources
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.seccomp.process import credentials, identity

Places = tuple[Cgroup, ...]
"""A cgroup per hierarchy, in the order of Kernel.hierarchies."""


class MountedTree:
    """`device` is that of the tree's mount ("0:42"), `masks` are those of what covers the machine's own cgroups and
    parts of sysfs.
    """

    def __init__(self, session: Session, kernel: Kernel, device: str, masks: frozenset[str]) -> None:
        self.kernel = kernel
        self.masks = masks
        self.device = device.encode()
        self.lock = session.lock
        self.sources = MountSources()
        self._session = session
        self._number = os.makedev(*map(int, device.split(":")))
        top = kernel.root
        self.hierarchies: dict[str, Hierarchy] = (
            {name: inode.hierarchy for name, inode in top.content.items() if isinstance(inode, Cgroup)}
            if isinstance(top, TopDirectory)
            else {}
        )
        """The hierarchies by their directories below the top; none for v2, whose root is the top."""

    def use_namespaces(self, root: Callable[[int], Cgroup | None]) -> None:
        """Sets what gives Caller.cgroup_root of a thread. It is called with the lock held."""
        self._session.cgroup_root_of = root

    def tell_events(self, tell: Callable[[CgroupFile], None]) -> None:
        """`Session.tell_events`."""
        self._session.tell_events(tell)

    def caller(self, tid: int) -> Caller:
        """The model's caller for a thread. Raises OSError: there is none."""
        theirs = credentials(tid)
        return self._session.caller(theirs.uids[3], theirs.gids[3], tid)

    def inode(self, path: str) -> Inode | None:
        """The inode at a path of the daemon's, such as /proc/TID/fd/N; None if not of the tree. Raises OSError."""
        device, inode = identity(path)
        return self._session.inode(inode) if device == self._number else None

    def has(self, path: str) -> bool:
        """Whether what is at a path of the daemon's is of the tree. Raises OSError."""
        return identity(path)[0] == self._number

    def places(self, tid: int) -> Places | None:
        """The cgroups that a thread is in; None if there is no such thread."""
        found = self.find(tid)
        return None if found is None else found[1]

    def find(self, tid: int) -> tuple[TaskInfo, Places] | None:
        """A thread and the cgroups that it is in; None if there is no such thread."""
        with self.lock:
            self.kernel.membership.adopt_forked()
            task = self.kernel.processes.find(tid)
            if task is None:
                return None
            return task, tuple(hierarchy.locate(task) for hierarchy in self.kernel.hierarchies)


def cgroup_of(inode: Inode) -> Cgroup | None:
    """The cgroup of a directory or file; None for the top of a v1 layout."""
    if isinstance(inode, CgroupFile):
        return inode.cgroup
    return inode if isinstance(inode, Cgroup) else None
