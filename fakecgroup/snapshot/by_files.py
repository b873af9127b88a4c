"""Restores a tree from what its files have shown.

A setting is written as root, parents first, until all are taken or no further one is. What no write sets is recalled
into the model's state (`CFType.recall`); counts that the model does not keep go on from a `Baseline`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ..core.baseline import Baseline
from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..credentials.caller import ROOT
from ..kernel import Kernel
from ..kernfs.inode import Inode, TopDirectory
from ..kernfs.xattrs import Order, Xattrs
from ..named_tuple import NamedTuple
from .content import Attributes, SeenCgroup, SeenHierarchy, Snapshot
from .of_kernel import read_whole
from .stand_ins import stand_in

_PASSES = 6  # a write may wait for another one


class _Pair(NamedTuple):
    """A file that was seen with a text, and the one in the model."""

    file: CgroupFile
    wanted: bytes


def fill(kernel: Kernel, snapshot: Snapshot) -> None:
    """Make a kernel's fresh tree that of a snapshot, as far as it goes."""
    placed = {id(seen): cgroup for seen, cgroup in _make(kernel, snapshot)}
    homes = [(seen, placed[id(seen)]) for _, seen in snapshot.cgroups() if id(seen) in placed]
    _set_all(kernel, homes)
    stand_in(kernel, snapshot, {id(seen): cgroup for seen, cgroup in homes})
    _set_all(kernel, homes)
    _pass(kernel, homes, _recall)
    _pass(kernel, homes, _begin_counts)
    for seen, cgroup in homes:
        _set_attributes(cgroup, seen.attributes)
        for name, its in seen.files.items():
            file = cgroup.file(name)
            if file is not None:
                _set_attributes(file, its.attributes)


def begin_counts(kernel: Kernel, snapshot: Snapshot) -> None:
    """Let counts begin with what a tree's files have shown, which is the snapshot's already."""
    homes = [(seen, cgroup) for _, seen, cgroup in _found(kernel, snapshot)]
    _pass(kernel, homes, _begin_counts)


def _found(kernel: Kernel, snapshot: Snapshot) -> Iterator[tuple[SeenHierarchy, SeenCgroup, Cgroup]]:
    """The cgroups of the model that are there."""
    for hierarchy in snapshot.hierarchies:
        root = root_of(kernel, hierarchy)
        known: dict[str, Cgroup | None] = {"/": root}
        for seen in hierarchy.cgroups:
            above, _, name = seen.path.rpartition("/")
            parent = known.get(above or "/")
            if seen.path != "/":
                known[seen.path] = None if parent is None else parent.children.get(name)
            cgroup = known[seen.path]
            if cgroup is not None:
                yield hierarchy, seen, cgroup


# -- cgroups ----------------------------------------------------------------------------------------


def root_of(kernel: Kernel, seen: SeenHierarchy) -> Cgroup | None:
    """The root of a hierarchy in the model; None if it does not have it."""
    found: Inode | None = kernel.root
    if isinstance(kernel.root, TopDirectory):
        found = kernel.root.find(seen.directory)
    return found if isinstance(found, Cgroup) and found.hierarchy.dfl == seen.unified else None


def _make(kernel: Kernel, snapshot: Snapshot) -> Iterator[tuple[SeenCgroup, Cgroup]]:
    """Make the cgroups; those whose names are not free are left out with all below."""
    for hierarchy in snapshot.hierarchies:
        root = root_of(kernel, hierarchy)
        if root is None:
            continue
        known = {"/": root}
        for seen in hierarchy.cgroups:
            above, _, name = seen.path.rpartition("/")
            parent = known.get(above or "/")
            if seen.path != "/" and parent is not None:
                try:
                    known[seen.path] = root.hierarchy.mkdir(parent, name, seen.attributes.mode, ROOT)
                except OSError:
                    continue
            if seen.path in known:
                yield seen, known[seen.path]


def _set_attributes(inode: Inode, wanted: Attributes) -> None:
    for name in ("mode", "uid", "gid"):
        if getattr(inode, name) != getattr(wanted, name):
            setattr(inode, name, getattr(wanted, name))
    if wanted.xattrs:
        cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
        assert isinstance(cgroup, Cgroup)
        inode.xattrs = Xattrs(Order.of(cgroup.hierarchy.personality))
        for name, value in wanted.xattrs.items():
            inode.xattrs.set(name, value, 0)


# -- files ------------------------------------------------------------------------------------------


def _pairs(homes: list[tuple[SeenCgroup, Cgroup]]) -> Iterator[_Pair]:
    """The files with a text, in the order of the tables."""
    for seen, cgroup in homes:
        for name in cgroup.hierarchy.table(cgroup):
            its = seen.files.get(name)
            if its is None or its.data is None:
                continue
            file = cgroup.file(name)
            if file is not None:
                yield _Pair(file, its.data)


def _set_all(kernel: Kernel, homes: list[tuple[SeenCgroup, Cgroup]]) -> None:
    """Write the settings."""
    before: list[str] | None = None
    for _ in range(_PASSES):
        left = [pair for pair in _pairs(homes) if not _reads_back(kernel, pair) and _set(kernel, pair)]
        names = [f"{pair.file.cgroup.path}/{pair.file.row.name}" for pair in left]
        if not left or names == before:
            break
        before = names


def _set(kernel: Kernel, pair: _Pair) -> bool:
    """Write a setting. True if it reads otherwise still."""
    row = pair.file.row
    if not row.is_setting or row.again is None:
        return False
    try:
        for text in row.again(pair.wanted.decode("latin-1")):
            kernel.vfs.open(pair.file, os.O_WRONLY, ROOT).write(text.encode("latin-1"), ROOT)
    except OSError:
        return True
    return not _reads_back(kernel, pair)


def _reads_back(kernel: Kernel, pair: _Pair) -> bool:
    return _read(kernel, pair.file) == pair.wanted


def _read(kernel: Kernel, file: CgroupFile) -> bytes | None:
    try:
        return read_whole(kernel, file)
    except OSError:
        return None


def _pass(kernel: Kernel, homes: list[tuple[SeenCgroup, Cgroup]], change: Callable[[Kernel, _Pair], None]) -> None:
    """Change the files that read otherwise, twice over all: to change one may change what another shows."""
    for _ in range(2):
        for pair in [pair for pair in _pairs(homes) if not _reads_back(kernel, pair)]:
            change(kernel, pair)


def _recall(kernel: Kernel, pair: _Pair) -> None:
    recall = pair.file.row.recall
    if recall is None:
        return
    try:
        recall(pair.file.subject, pair.wanted.decode("latin-1"))
    except ValueError:
        pass  # a text that the file never shows: it is told as a difference


def _begin_counts(kernel: Kernel, pair: _Pair) -> None:
    if not pair.file.row.counts:
        return
    pair.file.baseline = None
    now = _read(kernel, pair.file)
    if now is not None:
        pair.file.baseline = Baseline(pair.wanted.decode("latin-1"), now.decode("latin-1"))
