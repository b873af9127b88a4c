"""Cgroup namespaces: how a process in one names cgroups (cgroup_namespaces(7))."""

from __future__ import annotations

import os
import threading

from fakecgroup.cgroup import Cgroup

from .tree import Places, Tree

_KEPT = 64  # namespaces, before those without a process are looked for


class CgroupNamespaces:
    """The roots of the cgroup namespaces in the sandbox.

    The command starts in one whose root is the tree's. Another is noticed with the first process of it that asks about
    cgroups or mounts them: its root is where that process is then.
    """

    def __init__(self, tree: Tree, first: int) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        initial = tuple(hierarchy.root for hierarchy in tree.kernel.hierarchies)
        self._roots: dict[int, tuple[Places, int]] = {}
        """By inode number; with a descriptor of each, as the number of one that has ended is soon another's."""
        self._kept = _KEPT
        for tid in (first, os.getpid()):
            self._keep(tid, initial)

    def root(self, tid: int) -> Places:
        """The cgroups that are / to a thread. Raises OSError: no such thread."""
        namespace = _namespace(tid)
        with self._lock:
            if namespace in self._roots:
                return self._roots[namespace][0]
            places = self._tree.places(tid)
            if places is None:
                raise ProcessLookupError
            if len(self._roots) >= self._kept:
                self._forget()
            return self._keep(tid, places)

    def _keep(self, tid: int, places: Places) -> Places:
        held = os.open(f"/proc/{tid}/ns/cgroup", os.O_RDONLY | os.O_CLOEXEC)
        namespace = os.fstat(held).st_ino
        if namespace in self._roots:
            os.close(held)
        else:
            self._roots[namespace] = places, held
        return places

    def _forget(self) -> None:
        """Lets go of the namespaces that no process is in."""
        used = set()
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                used.add(_namespace(int(name)))
            except OSError:  # it has ended, or is not the sandbox's
                pass
        for namespace in self._roots.keys() - used:
            os.close(self._roots.pop(namespace)[1])
        self._kept = max(_KEPT, 2 * len(self._roots))


def path_from(root: Cgroup, cgroup: Cgroup) -> str:
    """A cgroup's path as it is shown where `root` is / (fs/kernfs/dir.c, kernfs_path_from_node)."""
    return relative(root.path, cgroup.path)


def relative(root: str, path: str) -> str:
    """`path` seen from `root`, both from the hierarchy's own root: /.. for each step up, then down."""
    above, below = ([name for name in where.split("/") if name] for where in (root, path))
    while above and below and above[0] == below[0]:
        del above[0], below[0]
    return "/" + "/".join([".."] * len(above) + below)


def _namespace(tid: int) -> int:
    return os.stat(f"/proc/{tid}/ns/cgroup").st_ino
