"""Whose ids a program of the mount sees: the mounter of an unprivileged mount plays root."""

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

    `played` maps a caller's id to the model's, `shown` the model's to what programs see; ids in neither pass as they
    are. For a mount made by root both are empty. For any other mounter their id is played as 0, and 0 is shown as
    their id.
    """

    def __init__(self, uid: int, gid: int) -> None:
        self.model_uid, self.model_gid = ({uid: 0}, {gid: 0}) if uid else ({}, {})
        self.shown_uid, self.shown_gid = ({0: uid}, {0: gid}) if uid else ({}, {})
        self.mounter = Mounter(uid, self.shown_uid, self.shown_gid)

    def caller(self, uid: int, gid: int, pid: int, files: Callable[[int], object]) -> Caller:
        """The model's caller for the thread `pid`; its groups, pid namespace and capabilities are looked at once they
        matter.
        """
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
        """Who is asked about in an ACCESS: access(2) asks for the real user, chdir(2) for whoever calls it."""
        if inode.is_dir and mask == MAY_EXEC:
            return caller
        uid = self.shown_uid.get(caller.uid, caller.uid)
        return caller._replace(capabilities=partial(self.mounter.by_real_ids, caller.pid, uid))


def _groups_of(pid: int, played: dict[int, int]) -> Callable[[], Collection[int]]:
    """The supplementary groups of a thread: none once it is gone (proc_pid_status(5), Groups)."""

    def groups() -> Collection[int]:
        return [played.get(gid, gid) for gid in groups_of(pid)]

    return groups
