"""The inodes that the kernel module knows, by node id.

A reply that names an inode gives the module a reference to its node. FORGET and BATCH_FORGET give references back.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import Any

from fakecgroup.kernfs.inode import Inode, Stat
from fakecgroup_mount.fuse import wire

_SELDOM = 1000  # nodes that are forgotten between two looks at the size of the tables
_SPARSE = 500  # bytes for each node from which a table is made anew; a full one has 40 to 100


class Node:
    """An inode under one node id, and how many references the kernel module has to it.

    `packed` is the struct fuse_attr of `stat` in a LOOKUP reply. It is kept where attributes are asked for again before
    they change: of files, and of directories that were looked at. `files` counts the open files or directories.
    `within` is the directory in which the kernel module remembers the node's name (`remembered_names`); None where it
    asks. `attributes` tells whether it may remember those of a directory.
    """

    __slots__ = ("attributes", "files", "id", "inode", "lookups", "packed", "stat", "within")

    def __init__(self, node_id: int, inode: Inode) -> None:
        self.id = node_id
        self.inode = inode
        self.files = 0
        self.lookups = 0
        self.stat: Stat | None = None
        self.packed = b""
        self.within: Node | None = None
        self.attributes = False


class Nodes:
    """The table of nodes. An inode has one node in `by_inode`; a file that is copied has further ones (`splicing`).

    Both dictionaries stay the same objects, so that requests may hold them.
    """

    def __init__(self, root: Inode) -> None:
        first = Node(wire.ROOT_ID, root)
        self.by_id = {first.id: first}
        self.by_inode = {root: first}
        self._extra: dict[Inode, list[Node]] = {}
        self._ids = count(wire.ROOT_ID + 1)
        self._forgotten = 0

    def add(self, inode: Inode) -> Node:
        """The first node of an inode."""
        node = Node(next(self._ids), inode)
        self.by_id[node.id] = self.by_inode[inode] = node
        return node

    def add_extra(self, inode: Inode) -> Node:
        """A further node of an inode, with a size and cached pages of its own in the kernel module."""
        node = Node(next(self._ids), inode)
        self.by_id[node.id] = node
        self._extra.setdefault(inode, []).append(node)
        return node

    def number_of(self, inode: Inode) -> int:
        """The number of nodes that an inode has."""
        return 1 + len(self._extra.get(inode, ()))

    def next_of(self, inode: Inode) -> Node | None:
        """The next of an inode's nodes, in turn; None for an inode without a node."""
        extra = self._extra.get(inode)
        if extra:
            extra.append(self.by_inode[inode])
            self.by_inode[inode] = extra.pop(0)
        return self.by_inode.get(inode)

    def find(self, ino: int) -> Inode | None:
        """The inode with this number, if the kernel module knows it. May be called from any thread."""
        return next((inode for inode in list(self.by_inode) if inode.ino == ino), None)

    def forget(self, node_id: int, lookups: int) -> None:
        """Drops `lookups` references, and the node with the last of them. The root stays."""
        node = self.by_id.get(node_id)
        if node is None or node_id == wire.ROOT_ID:
            return
        node.lookups -= lookups
        if node.lookups <= 0:
            del self.by_id[node_id]
            self._remove(node)
            self._forgotten += 1
            if not self._forgotten % _SELDOM:
                _give_back(self.by_id)
                _give_back(self.by_inode)

    def _remove(self, node: Node) -> None:
        inode = node.inode
        extra = self._extra.get(inode)
        if self.by_inode[inode] is not node:
            assert extra is not None
            extra.remove(node)
        elif extra:
            self.by_inode[inode] = extra.pop()
        else:
            del self.by_inode[inode]
        if extra is not None and not extra:
            del self._extra[inode]


def _give_back(table: dict[Any, Node]) -> None:
    """Make a table small again that had far more nodes: a dictionary never shrinks."""
    if sys.getsizeof(table) > _SPARSE * (len(table) + _SELDOM):
        kept = list(table.items())
        table.clear()
        table.update(kept)
