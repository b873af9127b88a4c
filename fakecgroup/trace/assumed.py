"""The state in which a trace begins, as calls that nobody has made: `assumed` is true in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..core.cftype import CFType
from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..credentials.caller import ROOT
from ..kernel import Kernel, Setup
from ..kernfs.inode import Inode
from ..tasks.process_table import ProcessTable
from ..vfs.openfile import OpenFile
from .call import Call
from .tree_paths import TreePaths

_NAME = "fresh"
_CHUNK = 1 << 16  # bytes
ASSUMED = {"assumed": True}


def assumed_calls(kernel: Kernel) -> Iterator[Call]:
    """Makes the cgroups, writes the settings that differ from those of a new tree, and puts the processes there.

    A setting may depend on a later one, so whoever makes the calls writes again what is refused.
    """
    roots = [hierarchy.root for hierarchy in kernel.hierarchies]
    if not (kernel.membership.writes or kernel.restored or any(root.children for root in roots)):
        return  # it is new
    paths = TreePaths(kernel.root)
    cgroups = [cgroup for root in roots for cgroup in (root, *_below(root))]
    for cgroup in cgroups:
        if cgroup.parent is not None:
            yield _call("mkdir", paths.of(cgroup), mode=f"{cgroup.mode:04o}")
    usual = _UsualTexts(kernel)
    for cgroup in cgroups:
        for name, entry in cgroup.hierarchy.table(cgroup).items():
            file = cgroup.file(name) if entry.row.is_setting else None
            text = None if file is None else read_text(file)
            if text is None or text == usual.of(cgroup, entry.row):
                continue
            assert entry.row.again is not None  # of a setting
            for written in entry.row.again(text):
                yield _call("write", paths.of(cgroup.file(name) or cgroup), written.encode("latin-1"))
    for cgroup in cgroups:
        yield from _attributes(cgroup, paths, usual.root_mode(cgroup) if cgroup.parent is None else cgroup.mode)
        for file in cgroup.files.values():
            if file.alive:
                yield from _attributes(file, paths, file.row.permissions)
    yield from _processes(kernel, paths)


def _below(root: Cgroup) -> list[Cgroup]:
    """All cgroups below a root, parents first and in the order in which they were made."""
    found: list[Cgroup] = []
    level = [root]
    while level:
        level = [child for cgroup in level for child in cgroup.children.values()]
        found += level
    return found


def _attributes(inode: Inode, paths: TreePaths, mode: int) -> Iterator[Call]:
    if (inode.uid, inode.gid) != (0, 0):
        yield _call("chown", paths.of(inode), uid=inode.uid, gid=inode.gid)
    if inode.mode != mode:
        yield _call("chmod", paths.of(inode), mode=f"{inode.mode:04o}")
    if inode.xattrs is not None:
        for name in inode.xattrs.names():
            yield _call("setxattr", paths.of(inode), inode.xattrs.get(name), name=name)


def _processes(kernel: Kernel, paths: TreePaths) -> Iterator[Call]:
    """The processes that are not in the roots, where others are."""
    kernel.membership.adopt_forked()
    told: set[int] = set()
    for hierarchy in kernel.hierarchies:
        for cgroup in _below(hierarchy.root):
            for tid, tgid in sorted(cgroup.tasks.items(), key=lambda item: item[0] != item[1]):
                if tid in told:
                    continue
                told.add(tid)
                if tid != tgid:
                    yield Call(0.0, tgid, "", "thread", result=tid, more=ASSUMED)
                    continue
                places = kernel.membership.places(tid, tgid)
                where = [paths.of(place) for place in places if place.parent is not None]
                yield Call(0.0, 0, "", "fork", result=tid, more={"cgroups": where, **ASSUMED})
                task = kernel.processes.find(tid)
                if task is not None:
                    yield Call(0.0, tid, "", "process", result={"uid": task.uid, "gid": 0}, more=ASSUMED)


def _call(op: str, path: str, data: bytes | None = None, **more: Any) -> Call:
    return Call(0.0, 0, "", op, path, data, None, None if data is None else len(data), {**more, **ASSUMED})


class _UsualTexts:
    """What files show in a new tree of the same kernel, in a root and in a cgroup that has every controller."""

    def __init__(self, kernel: Kernel) -> None:
        self._fresh = Kernel.of(
            Setup(
                kernel.layout, kernel.personality, kernel.machine, kernel.mount_options, ProcessTable(), kernel.mounts
            )
        )
        self._number = {hierarchy: number for number, hierarchy in enumerate(kernel.hierarchies)}
        self._texts: dict[tuple[int, bool, str], str | None] = {}
        self._children: dict[int, Cgroup] = {}

    def of(self, cgroup: Cgroup, row: CFType) -> str | None:
        """The usual text of a file; None where such a cgroup does not have it."""
        key = (self._number[cgroup.hierarchy], cgroup.parent is None, row.name)
        if key not in self._texts:
            self._texts[key] = self._read(*key)
        return self._texts[key]

    def root_mode(self, root: Cgroup) -> int:
        """The usual mode of a root."""
        return self._fresh.hierarchies[self._number[root.hierarchy]].root.mode

    def _read(self, number: int, is_root: bool, name: str) -> str | None:
        cgroup = self._fresh.hierarchies[number].root
        if not is_root:
            cgroup = self._child(number)
        file = cgroup.file(name)
        return None if file is None else read_text(file)

    def _child(self, number: int) -> Cgroup:
        if number not in self._children:
            root = self._fresh.hierarchies[number].root
            path = TreePaths(self._fresh.root).of(root)
            if root.hierarchy.dfl:
                enabled = " ".join(f"+{name}" for name in self._fresh.read(f"{path}/cgroup.controllers").split())
                self._fresh.write(f"{path}/cgroup.subtree_control", enabled)
            self._fresh.mkdir(f"{path}/{_NAME}")
            self._children[number] = root.children[_NAME]
        return self._children[number]


def read_text(file: CgroupFile) -> str | None:
    """The whole text of a file as root reads it, whatever faults there are; None where it cannot be read."""
    opened, data = OpenFile(file, os.O_RDONLY, ROOT), b""
    try:
        while part := opened.read(len(data), _CHUNK):
            data += part
    except OSError:
        return None
    return data.decode("latin-1")
