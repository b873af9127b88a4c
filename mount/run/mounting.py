"""mount(2) of a cgroup file system: the tree is put there, as a real one would come into view."""

from __future__ import annotations

import os
from errno import EBUSY, EINVAL, EPERM

from fakecgroup.cgroup import Cgroup
from fakecgroup.hierarchy import Hierarchy
from fakecgroup.refuse import refuse

from . import syscalls
from .cgroup_namespaces import CgroupNamespaces
from .grafting import attach, detached
from .listener import GOES, Answer, Call
from .process import credentials, locate
from .sandbox import CGROUP_ROOT
from .tree import Tree

# Flags that make mount(2) something else than a new mount: remount, bind, move, and the kinds of propagation.
_NO_NEW_MOUNT = 32 | 4096 | 8192 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20
_ATTRIBUTES = 1 | 2 | 4 | 8  # read-only, nosuid, nodev, noexec: the same bits in mount(2) and in mount_setattr(2)
_CAP_SYS_ADMIN = 21
V2_OPTIONS = frozenset(("nsdelegate", "favordynmods", "nofavordynmods", "memory_localevents", "memory_recursiveprot"))
V1_OPTIONS = frozenset(
    ("none", "noprefix", "clone_children", "cpuset_v2_mode", "xattr", "favordynmods", "nofavordynmods")
)


class Mounting:
    """`home` is a descriptor of the mount namespace in which the tree is at CGROUP_ROOT."""

    def __init__(self, tree: Tree, namespaces: CgroupNamespaces, home: int) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._home = home
        self.subsystems = frozenset(_bound(tree.kernel.hierarchies))
        """What an option of a v1 hierarchy can be called by."""

    def mount(self, call: Call) -> Answer:
        """Raises EINVAL, EBUSY, EPERM as the kernel does for these options (cgroup1_get_tree, cgroup_get_tree)."""
        _, target, kind, flags, data = call.arguments[:5]
        if flags & _NO_NEW_MOUNT or not kind:
            return GOES
        fstype = call.memory.read_text(call.tid, kind)
        if fstype not in (b"cgroup", b"cgroup2"):
            return GOES
        if not may_mount(call.tid):
            return -EPERM
        options = os.fsdecode(call.memory.read_text(call.tid, data)).split(",") if data else []
        path = self.root(call.tid, fstype == b"cgroup2", [option for option in options if option])
        place = locate(call.tid, syscalls.AT_FDCWD, call.memory.read_text(call.tid, target))
        try:
            if not call.waits():
                return GOES
            tree = self.detached(path, flags & _ATTRIBUTES)
            try:
                return -attach(tree, call.tid, place)
            finally:
                os.close(tree)
        finally:
            os.close(place)

    def detached(self, path: str, attributes: int) -> int:
        """A descriptor for a new mount, which is nowhere yet (grafting.detached); `path` is one of `root`."""
        return detached(self._home, path, attributes)

    def root(self, tid: int, unified: bool, options: list[str]) -> str:
        """What is to be the root of a new mount, as a path in the sandbox: the root of the thread's cgroup namespace,
        in the hierarchy that the options name. Raises EINVAL, EBUSY, EPERM.
        """
        places = self._namespaces.root(tid)
        inside = any(place.parent is not None for place in places)
        hierarchies = self._tree.kernel.hierarchies
        if unified:
            if not set(options) <= V2_OPTIONS:
                raise refuse(EINVAL)
            found = next((hierarchy for hierarchy in hierarchies if hierarchy.dfl), None)
        else:
            found = hierarchy_named(hierarchies, options, inside=inside)
        if found is None:
            raise refuse(EPERM)  # a hierarchy that is not there is not made
        return self._path(places[hierarchies.index(found)])

    def _path(self, root: Cgroup) -> str:
        """Where a cgroup is in the sandbox."""
        for name, hierarchy in self._tree.hierarchies.items():
            if hierarchy is root.hierarchy:
                return f"{CGROUP_ROOT}/{name}{root.path}"
        return CGROUP_ROOT + root.path


def may_mount(tid: int) -> bool:
    """Whether a thread may mount anything."""
    return bool(credentials(tid).capabilities >> _CAP_SYS_ADMIN & 1)


def hierarchy_named(hierarchies: list[Hierarchy], options: list[str], *, inside: bool) -> Hierarchy | None:
    """The v1 hierarchy that has exactly what the options name (check_cgroupfs_options, cgroup1_root_to_use).

    None for one that is not there. Raises EINVAL for what is no subsystem, EBUSY for one that another hierarchy has,
    which is not looked at `inside` a cgroup namespace.
    """
    v1 = [hierarchy for hierarchy in hierarchies if not hierarchy.dfl]
    subsystems = _bound(hierarchies)
    names = {option.partition("=")[2] for option in options if option.startswith("name=")}
    wanted = {
        option for option in options if option not in V1_OPTIONS and not option.startswith(("name=", "release_agent="))
    }
    if "all" in wanted or not (wanted or names):
        wanted = set(subsystems)
    if not wanted <= set(subsystems):
        raise refuse(EINVAL)
    for hierarchy in v1:
        mine = {name for name, bound in subsystems.items() if bound is hierarchy}
        if (names == {hierarchy.name} and not wanted) if not mine else mine == wanted:
            return hierarchy
    if wanted and not inside:
        raise refuse(EBUSY)
    return None


def _bound(hierarchies: list[Hierarchy]) -> dict[str, Hierarchy]:
    """The v1 hierarchy that each subsystem is bound to."""
    return {
        controller.legacy_name or controller.name: hierarchy
        for hierarchy in hierarchies
        if not hierarchy.dfl
        for controller in hierarchy.controllers.values()
    }
