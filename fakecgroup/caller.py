"""Who makes a system call."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .capability import ALL_PRIVILEGES, NO_PRIVILEGES, Capability, Privileges

if TYPE_CHECKING:
    from .inode import Directory


def _no_groups() -> Collection[int]:
    return ()


def _no_files(descriptor: int) -> object:
    return None


class EventFd(NamedTuple):
    """An eventfd of the caller; `signal` adds 1 to it (eventfd(2))."""

    signal: Callable[[], None]


class Numbers(Protocol):
    """The numbers of tasks as someone sees them; `namespace` tells one pid namespace from another, 0 is the model's."""

    namespace: int

    def number(self, tid: int) -> int:
        """What the task is shown as; 0 for one that cannot be seen (task_pid_vnr)."""

    def tid(self, number: int) -> int:
        """The task with this number; 0 for none (find_task_by_vpid)."""


class _OwnNumbers:
    namespace = 0

    def number(self, tid: int) -> int:
        return tid

    def tid(self, number: int) -> int:
        return number


OWN_NUMBERS: Numbers = _OwnNumbers()
"""Those of whoever is in the model's own pid namespace."""


def _own_numbers() -> Numbers:
    return OWN_NUMBERS


def _initial_namespace() -> Directory | None:
    return None


class Caller(NamedTuple):
    """Credentials of one call.

    `pid` is the calling thread (a writer of "0" to cgroup.procs means itself). `groups` gives the supplementary groups,
    `files` what one of the caller's descriptors is open on: an `Inode` of the model, an `EventFd`, any other object, or
    None for a descriptor that is not open, `numbers` how it counts tasks, `cgroup_root` the root of its
    cgroup namespace in the unified hierarchy, None for the initial one.

    `capabilities` are those that count now, as a set or as a function that gives the `Privileges`; None stands for all
    of them for uid 0, for none for others.

    What is a function is asked only when a decision hangs on it.
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
        """The capabilities and how far they reach. Raises ValueError for `capabilities` of another kind."""
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
        """Whether this capability counts in the tree's initial user namespace (kernel/capability.c, capable)."""
        return self.privileges().over_machine(capability)

    def remembered(self) -> Caller:
        """The same with the groups and privileges that it has now, whatever becomes of it (struct file, f_cred)."""
        if self.capabilities is None and self.groups is _no_groups:
            return self  # they cannot change
        privileges, groups = self.privileges().to_keep(), frozenset(self.groups())
        return self._replace(capabilities=lambda: privileges, groups=lambda: groups)

    def in_group(self, gid: int) -> bool:
        """True where `gid` is the caller's group or one of its supplementary ones."""
        return gid == self.gid or gid in self.groups()


ROOT = Caller()
