"""The listings of cgroups that are kept: they are made once, and follow what comes and goes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Listed
from fakecgroup.kernfs.inode import DT_DIR, DT_REG
from fakecgroup.kernfs.namehash import name_key
from fakecgroup_mount.fuse.listing import Listing

_FEW = 64  # listings of cgroups with few children
_MANY = 1000  # children of a cgroup whose listing is kept from mkdir on


class Listings:
    """The listings of cgroups that were read last, and of all with many children.

    A kernel has the order of a directory's entries from mkdir(2). Here a cgroup with few children is sorted for a
    reader, and again once a child has come or gone. One with many is kept in order.
    """

    def __init__(self) -> None:
        self._few: OrderedDict[Cgroup, Listing] = OrderedDict()
        self._many: dict[Cgroup, Listing] = {}
        self._files: dict[int, tuple[list[Listed], Listing]] = {}  # of cgroups without children, by id of the list

    def of(self, cgroup: Cgroup) -> Listing:
        """The listing of a cgroup as it is now."""
        found = self._few.get(cgroup)
        if found is not None:
            self._few.move_to_end(cgroup)
            return found
        found = self._many.get(cgroup)
        if found is not None:
            return found
        if cgroup.dead:
            return self.without(cgroup, ())
        many = len(cgroup.children) >= _MANY
        found = self._of_files(cgroup) if not cgroup.children else _made(cgroup, (), grows=many)
        if many:
            self._many[cgroup] = found
            return found
        self._few[cgroup] = found
        if len(self._few) > _FEW:
            self._few.popitem(last=False)
        return found

    @staticmethod
    def without(cgroup: Cgroup, hidden: Collection[str]) -> Listing:
        """The listing of a cgroup where nobody finds these names yet."""
        return _made(cgroup, hidden)

    def child_changed(self, cgroup: Cgroup, name: str) -> None:
        """`Kernel.on_child`: the child of this name has come, or has gone."""
        self._few.pop(cgroup, None)
        kept = self._many.get(cgroup)
        number = len(cgroup.children)
        try:
            if kept is None:
                if number == _MANY:
                    self._many[cgroup] = _made(cgroup, (), grows=True)
                return
            if number < _MANY // 2:
                del self._many[cgroup]
                return
            key = name_key(name, cgroup.hierarchy.signed_char)
            child = cgroup.children.get(name)
            if child is None:
                kept.remove(key)
            else:
                kept.add(key, child.ino, DT_DIR)
        except MemoryError:
            self._many.pop(cgroup, None)

    def drop(self, cgroup: Cgroup) -> None:
        """`Kernel.on_files`, and for a cgroup that is gone."""
        self._few.pop(cgroup, None)
        self._many.pop(cgroup, None)

    def _of_files(self, cgroup: Cgroup) -> Listing:
        """The listing of a cgroup without children. Those with the same files differ in inode numbers alone."""
        files = cgroup.hierarchy.listing(cgroup)
        known = self._files.get(id(files))
        if known is None:
            known = self._files[id(files)] = files, _made(cgroup, ())
        first, parent = cgroup.ino, cgroup.parent
        above = first if parent is None else parent.ino
        return known[1].alike((first, above, *[first + number for _, _, number in files]))


def _made(cgroup: Cgroup, hidden: Collection[str], *, grows: bool = False) -> Listing:
    first, parent = cgroup.ino, cgroup.parent
    above = first if parent is None else parent.ino
    if cgroup.dead:
        return Listing(first, above, ())
    signed = cgroup.hierarchy.signed_char
    files = cgroup.hierarchy.listing(cgroup)
    entries = [(key, first + number, DT_REG) for key, name, number in files if name not in hidden]
    entries += [(name_key(name, signed), child.ino, DT_DIR) for name, child in cgroup.children.items()]
    return Listing(first, above, sorted(entries), grows=grows)
