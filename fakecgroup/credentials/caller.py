"""The caller of a system call: credentials, descriptors, and how it numbers tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from ..named_tuple import NamedTuple
from .capability import ALL_PRIVILEGES, NO_PRIVILEGES, Capability, Privileges

if TYPE_CHECKING:
    from ..kernfs.inode import Directory


def _no_groups() -> Collection[int]:
    return ()


def _no_files(descriptor: int) -> object:
    return None


class EventFd(NamedTuple):
    """An eventfd of the caller. `signal` adds 1 to it (eventfd(2))."""

    signal: Callable[[], None]


class Numbers(Protocol):
    """Task numbers in one pid namespace. `namespace` tells namespaces apart; 0 is the model's own."""

    namespace: int

    def number(self, tid: int) -> int:
        """The number of a task here, 0 if it is not visible (task_pid_vnr)."""

    def tid(self, number: int) -> int:
        """The task with this number here, 0 for none (find_task_by_vpid)."""


class _OwnNumbers:
    namespace = 0

    def number(self, tid: int) -> int:
        return tid

    def tid(self, number: int) -> int:
        return number


OWN_NUMBERS: Numbers = _OwnNumbers()
"""The numbers in the model's own pid namespace."""


def _own_numbers() -> Numbers:
    return OWN_NUMBERS


def _initial_namespace() -> Directory | None:
    return None


class Caller(NamedTuple):
    """Credentials of one call.

    `pid` is the calling thread: a "0" written to cgroup.procs means this one. `groups` gives the supplementary groups.
    `files` gives what a descriptor of the caller is open on: an `Inode` of the model, an `EventFd`, any other object,
    or None if it is not open. `numbers` gives the task numbers of its pid namespace. `cgroup_root` gives the root of
    its cgroup namespace in the unified hierarchy, None for the initial namespace.

    `capabilities` are the effective ones, as a set or as a function that gives the `Privileges`. None means all of them
    for uid 0 and none for any other uid.

    Functions are called only when a decision depends on their answer.
    """

    uid: int = 0
    gid: int = 0
    pid: int = 1
    groups: Callable[[], Collection[int]] = _no_groups
    files: Callable[[int], object] = _no_files
    numbers: Callable[[], Numbers] = _own_numbers
    capabilities: Capability | Callable[[], Privileges] | None = None
    cgroup_root: Callable[[], Directory | None] = _initial_namespace

    def privileges(self) -> Privileges:
        """The capabilities and their reach. Raises ValueError for `capabilities` of an unknown type."""
        given = self.capabilities
        if given is None:
            return ALL_PRIVILEGES if self.uid == 0 else NO_PRIVILEGES
        if isinstance(given, Capability):
            return Privileges(given, given)
        found = given() if callable(given) else None
        if not isinstance(found, Privileges):
            raise ValueError(f"capabilities: {given!r} is no Capability and no function that gives Privileges")
        return found

    def capable(self, capability: Capability) -> bool:
        """True if the caller has the capability in the tree's initial user namespace (kernel/capability.c, capable)."""
        return self.privileges().over_machine(capability)

    def remembered(self) -> Caller:
        """A copy that keeps the groups and privileges of this moment (struct file, f_cred)."""
        if self.capabilities is None and self.groups is _no_groups:
            return self  # its credentials cannot change
        privileges, groups = self.privileges().to_keep(), frozenset(self.groups())
        return self._replace(capabilities=lambda: privileges, groups=lambda: groups)

    def in_group(self, gid: int) -> bool:
        """True if `gid` is the caller's group or a supplementary one."""
        return gid == self.gid or gid in self.groups()


ROOT = Caller()
