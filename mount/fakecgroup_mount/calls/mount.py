"""mount(2) and umount2(2): where a program mounts a cgroup file system, it gets a mount of the tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from errno import EBUSY, ENOTDIR, EPERM

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.credentials.capability import Capability
from fakecgroup.machine.mount_options import SINCE
from fakecgroup.outside.mount_parameters import FILE_SYSTEMS, MountOptions, hierarchy_to_mount
from fakecgroup_mount.calls import other_filesystems
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.detached_mounts import detached_mount, move_mount, unmount
from fakecgroup_mount.calls.masked_cgroups import CGROUP_ROOT
from fakecgroup_mount.calls.mounted_tree import MountedTree, cgroup_of
from fakecgroup_mount.calls.other_filesystems import Words
from fakecgroup_mount.calls.path_lookup import lookup
from fakecgroup_mount.host.mountinfo import mount_of
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import credentials
from fakecgroup_mount.seccomp.user_namespaces import namespace_of, owners

_REMOUNT, _BIND, _MOVE = 32, 4096, 8192  # MS_*
_UNBINDABLE, _PRIVATE, _SLAVE, _SHARED = 1 << 17, 1 << 18, 1 << 19, 1 << 20
_NO_NEW_MOUNT = _REMOUNT | _BIND | _MOVE | _UNBINDABLE | _PRIVATE | _SLAVE | _SHARED
_ATTRIBUTES = 1 | 2 | 4 | 8  # read-only, nosuid, nodev, noexec: the same bits in mount(2) and in mount_setattr(2)
_MAGIC, _MAGIC_BITS = 0xC0ED0000, 0xFFFF0000  # old programs put it into the flags (MS_MGC_VAL)
_MNT_EXPIRE, _UMOUNT_NOFOLLOW = 4, 8


class MountCalls:
    """Mounts and unmounts the tree. `home` is a descriptor of the mount namespace that has it at CGROUP_ROOT."""

    def __init__(self, tree: MountedTree, namespaces: CgroupNamespaces, home: int) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._home = home
        self.options = MountOptions(tree.kernel.hierarchies, tree.kernel.personality)

    def mount(self, call: Call) -> Answer:
        """Raises EFAULT, ENOENT, EPERM, EINVAL, EBUSY, ENOTDIR in the kernel's order.

        Sources: path_mount, cgroup1_get_tree, cgroup_get_tree, do_add_mount, graft_tree.
        """
        source, target, kind, flags, data = call.arguments[:5]
        if flags & _MAGIC_BITS == _MAGIC:
            flags &= ~_MAGIC_BITS
        if flags & _NO_NEW_MOUNT or not kind:  # these are in registers, where nobody can change them
            if flags & _BIND and not flags & _REMOUNT:
                self._forget_gone(call, target)
            return CONTINUE
        fstype = call.memory.read_text(call.tid, kind)
        if fstype not in FILE_SYSTEMS and not may_mount(call.tid):
            return CONTINUE
        texts = [call.memory.read_text(call.tid, word) if word else None for word in (source, data)]
        words = Words(texts[0], call.memory.read_text(call.tid, target), fstype, texts[1])
        if fstype not in FILE_SYSTEMS:
            return other_filesystems.mount(call, words, flags)
        place = lookup(call.tid, syscalls.AT_FDCWD, words.target)
        shown_source = texts[0] if texts[0] is not None else b"none"
        try:
            if not may_mount(call.tid):
                return -EPERM
            unified = fstype == b"cgroup2"
            options = self.options.parse_data(unified, os.fsdecode(words.data or b""), FILE_SYSTEMS[fstype])
            path = self.root(call.tid, unified, options)
            if self._is_mounted_at(path, place):
                return -EBUSY
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                return -ENOTDIR
            if not call.waits():
                return CONTINUE
            tree = self.detached(call.tid, path, flags & _ATTRIBUTES, shown_source)
            try:
                failed = move_mount(tree, call.tid, place)
            finally:
                os.close(tree)
            if not failed:
                self.apply(call.tid, unified, options)
            return -failed
        finally:
            os.close(place)

    def _forget_gone(self, call: Call, target: int) -> None:
        """Forgets the sources of mounts that are gone: a new mount may have their numbers or places."""
        try:
            place = lookup(call.tid, syscalls.AT_FDCWD, call.memory.read_text(call.tid, target))
        except OSError:  # the call will fail
            return
        try:
            point = os.fsencode(os.readlink(f"/proc/self/fd/{place}"))
            self._tree.sources.forget_gone(call.tid, point)
        finally:
            os.close(place)

    def _is_mounted_at(self, path: str, place: int) -> bool:
        """Whether the uppermost mount at `place` is of the hierarchy that `path` is in."""
        inode = self._tree.inode(f"/proc/self/fd/{place}")
        cgroup = None if inode is None else cgroup_of(inode)
        if cgroup is None or not path.startswith(self._path(cgroup.hierarchy.root)):
            return False
        return os.stat(f"/proc/self/fd/{place}/..").st_dev != os.fstat(place).st_dev

    def umount2(self, call: Call) -> Answer:
        """Unmounts without MNT_FORCE. Cgroup file systems ignore the flag; a FUSE file system would end."""
        address, flags = call.arguments[:2]
        name = call.memory.read_text(call.tid, address)
        place = lookup(call.tid, syscalls.AT_FDCWD, name, follow=not flags & _UMOUNT_NOFOLLOW)
        try:
            own = f"/proc/self/fd/{place}"
            if not self._tree.has(own) or flags & _MNT_EXPIRE:  # the kernel refuses it with MNT_FORCE
                return CONTINUE
            path = os.readlink(own)
        finally:
            os.close(place)
        if not may_mount(call.tid):
            return -EPERM
        return -unmount(path, call.tid, flags & ~syscalls.MNT_FORCE) if call.waits() else CONTINUE

    def detached(self, tid: int, path: str, attributes: int, source: bytes) -> int:
        """A descriptor of a new mount without a place (open_tree(2)). `path` is what `root` gave. Raises OSError."""
        made = detached_mount(self._home, path, attributes)
        self._tree.sources.note(mount_of(made), source, tid)
        return made

    def apply(self, tid: int, unified: bool, options: Sequence[str]) -> None:
        """Gives the unified hierarchy the options of a mount (apply_cgroup_root_flags).

        Only mounts from the initial cgroup namespace change them.
        """
        if unified and self._namespaces.is_initial(tid):
            hierarchy = next(hierarchy for hierarchy in self._tree.kernel.hierarchies if hierarchy.dfl)
            with self._tree.lock:
                hierarchy.mounted_with(tuple(option for option in SINCE if option in options))

    def root(self, tid: int, unified: bool, options: Sequence[str]) -> str:
        """The path in the sandbox of what a new mount will have as its root. Raises EINVAL, EPERM, EBUSY.

        It is the root of the thread's cgroup namespace, in the hierarchy that the options name.
        """
        places = self._namespaces.root(tid)
        hierarchies = self._tree.kernel.hierarchies
        found = hierarchy_to_mount(
            hierarchies,
            self.options,
            options,
            unified=unified,
            owned=_owns_its_cgroup_namespace(tid),
            inside=not self._namespaces.is_initial(tid),
        )
        return self._path(places[hierarchies.index(found)])

    def _path(self, root: Cgroup) -> str:
        """The path of a cgroup in the sandbox."""
        for name, hierarchy in self._tree.hierarchies.items():
            if hierarchy is root.hierarchy:
                return f"{CGROUP_ROOT}/{name}{root.path}"
        return CGROUP_ROOT + root.path


def may_mount(tid: int) -> bool:
    """Whether a thread has CAP_SYS_ADMIN in its user namespace (may_mount)."""
    return bool(credentials(tid).capabilities & Capability.SYS_ADMIN)


def _owns_its_cgroup_namespace(tid: int) -> bool:
    """Whether a thread's user namespace owns its cgroup namespace, or is above the owner (mount_capable)."""
    return namespace_of(tid) in owners(tid, "cgroup")
