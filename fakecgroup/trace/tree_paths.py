"""Where files are in a tree, as a trace names them."""

from __future__ import annotations

from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..kernfs.inode import Inode, TopDirectory

_KEPT = 20_000  # paths


class TreePaths:
    """The paths of inodes from the tree's root `top`, which is "."; on v1 they begin with the hierarchy.

    That of a removed inode is where it was. `known` has paths that were asked for; `forget` clears it after a rename.
    """

    def __init__(self, top: Inode) -> None:
        self.known: dict[Inode, str] = {}
        self._tops = {top: "."}
        if isinstance(top, TopDirectory):
            self._tops |= {inode: name for name, inode in top.content.items()}

    def of(self, inode: Inode) -> str:
        """The path of an inode."""
        known = self.known.get(inode)
        if known is not None:
            return known
        if inode in self._tops:
            path = self._tops[inode]
        elif isinstance(inode, CgroupFile):
            path = self._below(inode.cgroup, inode.row.name)
        elif isinstance(inode, Cgroup) and inode.parent is not None:
            path = self._below(inode.parent, inode.name)
        else:
            path = ""
        if len(self.known) >= _KEPT:
            self.known.clear()
        self.known[inode] = path
        return path

    def forget(self) -> None:
        self.known.clear()

    def _below(self, directory: Inode, name: str) -> str:
        above = self.of(directory)
        return name if above == "." else f"{above}/{name}"
