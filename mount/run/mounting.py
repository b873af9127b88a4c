"""mount(2) of a cgroup file system: the tree is put there, as a real one would come into view."""

from __future__ import annotations

import os
from errno import EBUSY, EINVAL, EIO, ENOSYS, EPERM
from struct import pack

from fakecgroup.cgroup import Cgroup
from fakecgroup.hierarchy import Hierarchy
from fakecgroup.refuse import refuse

from . import syscalls
from .cgroup_namespaces import CgroupNamespaces
from .listener import GOES, Answer, Call
from .process import credentials, locate
from .sandbox import CGROUP_ROOT
from .tree import Tree

# Flags that make mount(2) something else than a new mount: remount, bind, move, and the kinds of propagation.
_NO_NEW_MOUNT = 32 | 4096 | 8192 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20
_ATTRIBUTES = 1 | 2 | 4 | 8  # read-only, nosuid, nodev, noexec: the same bits in mount(2) and in mount_setattr(2)
_CAP_SYS_ADMIN = 21
_OPEN_TREE_CLONE = 1
_BOTH_EMPTY = 0x04 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH
_V2_OPTIONS = frozenset(("nsdelegate", "favordynmods", "nofavordynmods", "memory_localevents", "memory_recursiveprot"))
_V1_OPTIONS = frozenset(("none", "noprefix", "clone_children", "cpuset_v2_mode", "xattr", "favordynmods"))


class Mounting:
    """`home` is a descriptor of the mount namespace in which the tree is at CGROUP_ROOT."""

    def __init__(self, tree: Tree, namespaces: CgroupNamespaces, home: int) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._home = home

    def fsopen(self, call: Call) -> Answer:
        """ENOSYS for a cgroup file system: libmount then uses mount(2)."""
        name = call.memory.read_text(call.tid, call.arguments[0])
        return -ENOSYS if name in (b"cgroup", b"cgroup2") else GOES

    def mount(self, call: Call) -> Answer:
        """Raises EINVAL, EBUSY, EPERM as the kernel does for these options (cgroup1_get_tree, cgroup_get_tree)."""
        _, target, kind, flags, data = call.arguments[:5]
        if flags & _NO_NEW_MOUNT or not kind:
            return GOES
        fstype = call.memory.read_text(call.tid, kind)
        if fstype not in (b"cgroup", b"cgroup2"):
            return GOES
        if not credentials(call.tid).capabilities >> _CAP_SYS_ADMIN & 1:
            return -EPERM
        options = os.fsdecode(call.memory.read_text(call.tid, data)).split(",") if data else []
        root = self._root(call.tid, fstype == b"cgroup2", [option for option in options if option])
        place = locate(call.tid, syscalls.AT_FDCWD, call.memory.read_text(call.tid, target))
        try:
            if not call.waits():
                return GOES
            return -_graft(self._home, self._path(root), flags & _ATTRIBUTES, call.tid, place)
        finally:
            os.close(place)

    def _root(self, tid: int, unified: bool, options: list[str]) -> Cgroup:
        """What is to be the root of the new mount: the root of the thread's cgroup namespace, in one hierarchy."""
        places = self._namespaces.root(tid)
        inside = any(place.parent is not None for place in places)
        hierarchies = self._tree.kernel.hierarchies
        if unified:
            if not set(options) <= _V2_OPTIONS:
                raise refuse(EINVAL)
            found = next((hierarchy for hierarchy in hierarchies if hierarchy.dfl), None)
        else:
            found = hierarchy_named(hierarchies, options, inside=inside)
        if found is None:
            raise refuse(EPERM)  # a hierarchy that is not there is not made
        return places[hierarchies.index(found)]

    def _path(self, root: Cgroup) -> str:
        """Where a cgroup is in the sandbox."""
        for name, hierarchy in self._tree.hierarchies.items():
            if hierarchy is root.hierarchy:
                return f"{CGROUP_ROOT}/{name}{root.path}"
        return CGROUP_ROOT + root.path


def hierarchy_named(hierarchies: list[Hierarchy], options: list[str], *, inside: bool) -> Hierarchy | None:
    """The v1 hierarchy that has exactly what the options name (check_cgroupfs_options, cgroup1_root_to_use).

    None for one that is not there. Raises EINVAL for what is no subsystem, EBUSY for one that another hierarchy has,
    which is not looked at `inside` a cgroup namespace.
    """
    v1 = [hierarchy for hierarchy in hierarchies if not hierarchy.dfl]
    subsystems = {
        controller.legacy_name or controller.name: hierarchy
        for hierarchy in v1
        for controller in hierarchy.controllers.values()
    }
    names = {option.partition("=")[2] for option in options if option.startswith("name=")}
    wanted = {
        option for option in options if option not in _V1_OPTIONS and not option.startswith(("name=", "release_agent="))
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


def _graft(home: int, path: str, attributes: int, tid: int, place: int) -> int:
    """Mounts what is at `path` in the mount namespace `home` at `place`, in a thread's namespaces; returns an errno.

    A child of ours does it, as a process with threads cannot change its user namespace.
    """
    pid = os.fork()
    if pid == 0:
        code = EIO
        try:
            _graft_here(home, path, attributes, tid, place)
            code = 0
        except OSError as error:
            code = error.errno or EIO
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _graft_here(home: int, path: str, attributes: int, tid: int, place: int) -> None:
    users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY)
    mounts = os.open(f"/proc/{tid}/ns/mnt", os.O_RDONLY)
    same = os.stat("/proc/self/ns/user").st_ino == os.fstat(users).st_ino
    syscalls.set_namespace(home, syscalls.CLONE_NEWNS)
    tree = syscalls.syscall("open_tree", syscalls.AT_FDCWD, os.fsencode(path), _OPEN_TREE_CLONE)
    change = pack("=QQQQ", attributes, 15 & ~attributes, 0, 0)
    syscalls.syscall("mount_setattr", tree, b"", syscalls.AT_EMPTY_PATH, change, len(change))
    if not same:
        syscalls.set_namespace(users, syscalls.CLONE_NEWUSER)
    syscalls.set_namespace(mounts, syscalls.CLONE_NEWNS)
    syscalls.syscall("move_mount", tree, b"", place, b"", _BOTH_EMPTY)
