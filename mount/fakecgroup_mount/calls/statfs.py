"""statfs(2) and fstatfs(2): a file of the tree is on a cgroup file system, one of /proc on procfs, a cover on sysfs."""

from __future__ import annotations

import os
from struct import pack_into

from fakecgroup.vfs.vfs import Vfs
from fakecgroup_mount.calls.masked_cgroups import CGROUP_ROOT
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.mountinfo_files import MountinfoFiles
from fakecgroup_mount.calls.path_lookup import fd_path, lookup
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import identity, signed, statfs

_MEMORY_FILE = "/memfd:proc"  # a file of /proc that `calls.open` has made


class StatfsCalls:
    """Asks the file system that has the file, and corrects the type."""

    def __init__(self, tree: MountedTree, vfs: Vfs, mounts: MountinfoFiles) -> None:
        self._tree = tree
        self._vfs = vfs
        self._mounts = mounts
        self._covers = {os.makedev(*map(int, device.split(":"))) for device in tree.masks}

    def statfs(self, call: Call) -> Answer:
        """The kernel itself answers for files of other file systems, and where there is no file."""
        try:
            fd = lookup(call.tid, syscalls.AT_FDCWD, call.memory.read_text(call.tid, call.arguments[0]))
        except OSError:
            return CONTINUE
        try:
            return self._answer(call, f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)

    def fstatfs(self, call: Call) -> Answer:
        """The kernel itself answers for files of other file systems, and where there is no file."""
        return self._answer(call, fd_path(call.tid, signed(call.arguments[0])))

    def _answer(self, call: Call, path: str) -> Answer:
        try:
            kind = None
            if self._tree.has(path):
                kind = self._type(path)
            elif os.readlink(path).startswith(_MEMORY_FILE) or self._mounts.has(path):
                path = f"/proc/{call.tid}/root/proc"
            elif self._is_cover(path):
                path = f"/proc/{call.tid}/root/sys"
            else:
                return CONTINUE
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                shown = statfs(fd)
            finally:
                os.close(fd)
        except OSError:
            return CONTINUE
        if kind is not None:
            pack_into("=q", shown, 0, kind)
        if not call.waits():
            return CONTINUE
        call.memory.write(call.tid, call.arguments[1], bytes(shown))
        return 0

    def _is_cover(self, path: str) -> bool:
        """Whether what is at a path of the daemon's is a cover over a part of sysfs. Raises OSError."""
        return identity(path)[0] in self._covers and not os.readlink(path).startswith(CGROUP_ROOT)

    def _type(self, path: str) -> int:
        """The type of the file system that the tree's kernel has at a path of the daemon's (f_type)."""
        inode = self._tree.inode(path)
        return self._vfs.statfs(self._tree.kernel.root if inode is None else inode).type
