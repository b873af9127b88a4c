"""Cgroup namespaces: how a process in one names cgroups (cgroup_namespaces(7))."""

from __future__ import annotations

import os
import threading

from fakecgroup.cgroup import Cgroup

from .tree import Places, Tree


class CgroupNamespaces:
    """The roots of the cgroup namespaces in the sandbox.

    The command starts in one whose root is the tree's. Another is noticed with the first process of it that asks about
    cgroups or mounts them: its root is where that process is then.
    """

    def __init__(self, tree: Tree, first: int) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        initial = tuple(hierarchy.root for hierarchy in tree.kernel.hierarchies)
        self._roots = {_namespace(first): initial, _namespace(os.getpid()): initial}

    def root(self, tid: int) -> Places:
        """The cgroups that are / to a thread. Raises OSError: no such thread."""
        namespace = _namespace(tid)
        with self._lock:
            known = self._roots.get(namespace)
            if known is None:
                known = self._tree.places(tid)
                if known is None:
                    raise ProcessLookupError
                self._roots[namespace] = known
        return known


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
