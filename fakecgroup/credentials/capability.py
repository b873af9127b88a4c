"""Capabilities (capabilities(7)) and their reach."""

from __future__ import annotations

from collections.abc import Container
from enum import IntFlag


class Capability(IntFlag):
    """A set of capabilities by the kernel's names (linux/capability.h). Bit N stands for capability number N."""

    CHOWN = 1 << 0
    DAC_OVERRIDE = 1 << 1
    DAC_READ_SEARCH = 1 << 2
    FOWNER = 1 << 3
    FSETID = 1 << 4
    KILL = 1 << 5
    SETGID = 1 << 6
    SETUID = 1 << 7
    SETPCAP = 1 << 8
    LINUX_IMMUTABLE = 1 << 9
    NET_BIND_SERVICE = 1 << 10
    NET_BROADCAST = 1 << 11
    NET_ADMIN = 1 << 12
    NET_RAW = 1 << 13
    IPC_LOCK = 1 << 14
    IPC_OWNER = 1 << 15
    SYS_MODULE = 1 << 16
    SYS_RAWIO = 1 << 17
    SYS_CHROOT = 1 << 18
    SYS_PTRACE = 1 << 19
    SYS_PACCT = 1 << 20
    SYS_ADMIN = 1 << 21
    SYS_BOOT = 1 << 22
    SYS_NICE = 1 << 23
    SYS_RESOURCE = 1 << 24
    SYS_TIME = 1 << 25
    SYS_TTY_CONFIG = 1 << 26
    MKNOD = 1 << 27
    LEASE = 1 << 28
    AUDIT_WRITE = 1 << 29
    AUDIT_CONTROL = 1 << 30
    SETFCAP = 1 << 31
    MAC_OVERRIDE = 1 << 32
    MAC_ADMIN = 1 << 33
    SYSLOG = 1 << 34
    WAKE_ALARM = 1 << 35
    BLOCK_SUSPEND = 1 << 36
    AUDIT_READ = 1 << 37
    PERFMON = 1 << 38
    BPF = 1 << 39
    CHECKPOINT_RESTORE = 1 << 40


NONE = Capability(0)
ALL = ~NONE


class _EveryId:
    def __contains__(self, number: object) -> bool:
        return True


EVERY_ID: Container[int] = _EveryId()
"""The ids of a user namespace that maps every id."""


class Privileges:
    """The capabilities of a task and their reach.

    `effective` capabilities count now; `permitted` ones may be made effective. `namespace` is their user namespace: 0
    for the tree's initial one (its mounter's), None for one that is not visible. `uids` and `gids` are the ids mapped
    in it.
    """

    __slots__ = ("effective", "gids", "namespace", "permitted", "uids")

    effective: int
    permitted: int

    def __init__(
        self,
        effective: int = 0,
        permitted: int = 0,
        namespace: object = 0,
        uids: Container[int] = EVERY_ID,
        gids: Container[int] = EVERY_ID,
    ) -> None:
        self.effective = effective
        self.permitted = permitted
        self.namespace = namespace
        self.uids = uids
        self.gids = gids

    def to_keep(self) -> Privileges:
        """A copy that stays valid after the task is gone."""
        return self

    def over_machine(self, capability: Capability) -> bool:
        """True if the capability is effective in the initial user namespace (kernel/capability.c, capable)."""
        return self.namespace == 0 and bool(self.effective & capability)

    def over_owner(self, capability: Capability, uid: int) -> bool:
        """True if the capability is effective over what this uid owns (inode_owner_or_capable)."""
        return bool(self.effective & capability) and uid in self.uids

    def over_ids(self, capability: Capability, uid: int, gid: int) -> bool:
        """True if one of the capabilities is effective over what these ids own (capable_wrt_inode_uidgid)."""
        return bool(self.effective & capability) and uid in self.uids and gid in self.gids

    def over_task(self, capability: Capability, task: Privileges) -> bool:
        """True if the capability is effective in the task's user namespace (ns_capable)."""
        return bool(self.effective & capability) and (self.namespace == 0 or self.namespace == task.namespace)


NO_PRIVILEGES = Privileges()
ALL_PRIVILEGES = Privileges(ALL, ALL)
