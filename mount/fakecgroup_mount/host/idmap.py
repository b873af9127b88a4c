"""Translates ids between programs and the model. The mounter of an unprivileged mount plays root."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from fakecgroup import Caller
from fakecgroup.credentials.permission import MAY_EXEC
from fakecgroup.kernfs.inode import Inode
from fakecgroup_mount.host.credentials import Mounter, groups_of
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of


class IdMap:
    """Translates user and group ids between the programs of a mount and the model.

    `model_uid` and `model_gid` map a caller's id to the model's. `shown_uid` and `shown_gid` map the model's id to what
    programs see. Ids without an entry stay as they are. For root's mount all are empty. Any other mounter's id is 0 in
    the model, and the model's 0 is shown as the mounter's id.
    """

    def __init__(self, uid: int, gid: int) -> None:
        self.model_uid, self.model_gid = ({uid: 0}, {gid: 0}) if uid else ({}, {})
        self.shown_uid, self.shown_gid = ({0: uid}, {0: gid}) if uid else ({}, {})
        self.mounter = Mounter(uid, self.shown_uid, self.shown_gid)

    def caller(self, uid: int, gid: int, pid: int, files: Callable[[int], object]) -> Caller:
        """The model's caller for the thread `pid`. Its groups, pid namespace and capabilities are read when needed."""
        return Caller(
            self.model_uid.get(uid, uid),
            self.model_gid.get(gid, gid),
            pid,
            _groups_of(pid, self.model_gid),
            files,
            partial(pid_namespace_of, pid),
            partial(self.mounter.privileges, pid, uid),
        )

    def for_access(self, caller: Caller, mask: int, inode: Inode) -> Caller:
        """The caller whose rights count in a FUSE ACCESS: the real user for access(2), the caller itself for
        chdir(2).
        """
        if inode.is_dir and mask == MAY_EXEC:
            return caller
        uid = self.shown_uid.get(caller.uid, caller.uid)
        return caller._replace(capabilities=partial(self.mounter.by_real_ids, caller.pid, uid))


def _groups_of(pid: int, model_gid: dict[int, int]) -> Callable[[], Collection[int]]:
    """The supplementary groups of a thread; empty once it is gone (proc_pid_status(5), Groups)."""

    def groups() -> Collection[int]:
        return [model_gid.get(gid, gid) for gid in groups_of(pid)]

    return groups
