"""The system calls of a tree that has faults: each asks the rules before it does its work."""

from __future__ import annotations

from errno import ENODEV
from typing import TYPE_CHECKING, Any

from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..kernfs.inode import Inode, Stat
from ..refuse import refuse
from ..vfs.openfile import OpenFile
from ..vfs.vfs import Vfs
from .late_files import LateFiles

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..credentials.caller import Caller
    from ..kernel import Kernel
    from .faults import Faults


class FaultyVfs(Vfs):
    """A `Vfs` whose calls meet the rules of `faults`. Files that are open already when it begins meet none."""

    def __init__(self, kernel: Kernel, faults: Faults) -> None:
        super().__init__(kernel.root)
        self.faults = faults
        self._late = LateFiles()

    def meet(self, op: str, inode: Inode, caller: Caller, name: str | None = None) -> None:
        """Asks the rules about a call on an inode, or on the entry `name` of a directory."""
        faults = self.faults
        if not faults.has(op):
            return

        def path() -> str:
            found = faults.path_of(inode)
            if name is None:
                return found
            return name if found == "." else f"{found}/{name}"

        cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
        faults.meet(op, path, caller.pid, cgroup if isinstance(cgroup, Cgroup) else None)

    # -- names that appear late -------------------------------------------------------------------

    def find(self, parent: Inode, name: str, caller: Caller) -> Inode | None:
        found = super().find(parent, name, caller)
        if self._late and isinstance(parent, Cgroup) and self._late.hidden(parent, (name,), parent.hierarchy.now()):
            return None
        return found

    def readdir(self, inode: Inode) -> list[tuple[str, int, int]]:
        entries = super().readdir(inode)
        if not self._late or not isinstance(inode, Cgroup):
            return entries
        hidden = self.hidden(inode)
        return [entry for entry in entries if entry[0] not in hidden]

    def hidden(self, cgroup: Cgroup) -> Collection[str]:
        return self._late.hidden(cgroup, names_of(cgroup), cgroup.hierarchy.now()) if self._late else ()

    def note_new_files(self, cgroup: Cgroup, before: set[str], caller: Caller) -> None:
        """Hides what has come since there were these files, as the rules say."""
        for name in sorted(names_of(cgroup) - before):
            late = self.faults.lateness(f"{self.faults.path_of(cgroup)}/{name}", caller.pid)
            if late:
                self._late.hide(cgroup, name, cgroup.hierarchy.now() + late)

    # -- system calls -----------------------------------------------------------------------------

    def mkdir(self, parent: Inode, name: str, mode: int, caller: Caller) -> Inode:
        self.meet("mkdir", parent, caller, name)
        made = super().mkdir(parent, name, mode, caller)
        if self.faults.has("appear") and isinstance(made, Cgroup):
            self.note_new_files(made, set(), caller)
        return made

    def rmdir(self, parent: Inode, name: str, caller: Caller) -> None:
        self.meet("rmdir", parent, caller, name)
        victim = parent.children.get(name) if isinstance(parent, Cgroup) else None
        super().rmdir(parent, name, caller)
        if victim is not None and self._late:
            self._late.forget(victim)

    def rename(self, parent: Inode, name: str, new_parent: Inode, new_name: str, flags: int, caller: Caller) -> None:
        self.meet("rename", parent, caller, name)
        super().rename(parent, name, new_parent, new_name, flags, caller)

    def open(self, inode: Inode, flags: int, caller: Caller) -> OpenFile:
        self.meet("open", inode, caller)
        return super().open(inode, flags, caller)

    def _opened(self, inode: CgroupFile, flags: int, opener: Caller) -> OpenFile:
        if not inode.alive:
            raise refuse(ENODEV)  # it was removed since its name was found (kernfs_fop_open)
        return FaultyFile(self, inode, flags, opener)

    def opendir(self, inode: Inode, caller: Caller) -> None:
        self.meet("listdir", inode, caller)
        super().opendir(inode, caller)

    def stat(self, inode: Inode, caller: Caller) -> Stat:
        self.meet("stat", inode, caller)
        return super().stat(inode, caller)

    def access(self, inode: Inode, mask: int, caller: Caller) -> None:
        self.meet("access", inode, caller)
        super().access(inode, mask, caller)

    def setattr(self, inode: Inode, caller: Caller, *, chown: bool = False, **changes: Any) -> Stat:
        for op, there in (
            ("truncate", changes.get("size") is not None),
            ("chmod", changes.get("mode") is not None),
            ("chown", chown or changes.get("uid") is not None or changes.get("gid") is not None),
            ("utimens", changes.get("atime") is not None or changes.get("mtime") is not None),
        ):
            if there:
                self.meet(op, inode, caller)
        return super().setattr(inode, caller, chown=chown, **changes)

    def getxattr(self, inode: Inode, name: str, caller: Caller) -> bytes:
        self.meet("getxattr", inode, caller)
        return super().getxattr(inode, name, caller)

    def setxattr(self, inode: Inode, name: str, value: bytes, flags: int, caller: Caller) -> None:
        self.meet("setxattr", inode, caller)
        super().setxattr(inode, name, value, flags, caller)

    def removexattr(self, inode: Inode, name: str, caller: Caller) -> None:
        self.meet("removexattr", inode, caller)
        super().removexattr(inode, name, caller)

    def listxattr(self, inode: Inode, caller: Caller) -> list[str]:
        self.meet("listxattr", inode, caller)
        return super().listxattr(inode, caller)


class FaultyFile(OpenFile):
    """An open file whose reads and writes meet the rules."""

    __slots__ = ("_vfs",)

    def __init__(self, vfs: FaultyVfs, inode: CgroupFile, flags: int, opener: Caller) -> None:
        super().__init__(inode, flags, opener)
        self._vfs = vfs

    def read(self, offset: int, size: int, reader: Caller | None = None) -> bytes:
        self._vfs.meet("read", self.inode, reader or self.opener)
        return super().read(offset, size, reader)

    def write(self, data: bytes, caller: Caller) -> int:
        self._vfs.meet("write", self.inode, caller)
        if self.inode.row.name != "cgroup.subtree_control" or not self._vfs.faults.has("appear"):
            return super().write(data, caller)
        before = {child: names_of(child) for child in self.inode.cgroup.children.values()}
        written = super().write(data, caller)
        for child, names in before.items():
            self._vfs.note_new_files(child, names, caller)
        return written


def names_of(cgroup: Cgroup) -> set[str]:
    """The names of a cgroup's files, without its children."""
    return {name for _, name, _ in cgroup.hierarchy.listing(cgroup)}
