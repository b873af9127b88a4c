"""A caller's credentials: paths are looked up with its rights, and a child process can take all of them.

The daemon has the rights of the sandbox's root, who may search every directory. For one lookup, a thread of the daemon
takes the caller's file system ids, groups and capabilities; each thread has its own (credentials(7)). Capabilities
count in a user namespace. If the caller is in another one, a child of the daemon looks there.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EIO
from functools import cache
from struct import Struct, pack
from typing import NoReturn

from fakecgroup.credentials.capability import Capability
from fakecgroup.refuse import refuse
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.process import TaskCredentials, credentials
from fakecgroup_mount.seccomp.user_namespaces import NamespaceId, lineage, namespace_of

_VERSION_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_PR_SET_KEEPCAPS = 8
_FILE_SYSTEM = 3  # the index of the file system id
_NO_MAGIC_LINKS = 0x02  # RESOLVE_NO_MAGICLINKS, include/uapi/linux/openat2.h
_RESULT = Struct("=i")  # an errno


def is_capable(caller: int, capability: Capability, target: int) -> bool:
    """Whether a thread has a capability in the user namespace of another thread (ns_capable).

    False where that namespace is above the daemon's. Raises OSError: there is no such caller.
    """
    if not credentials(caller).capabilities & capability:
        return False
    own = namespace_of(caller)
    try:
        return own in lineage(target)
    except OSError:
        return False


def with_credentials_of(tid: int, open_path: Callable[[int], int]) -> int:
    """The descriptor that `open_path` gives when it runs with a thread's rights. Raises OSError.

    `open_path` gets RESOLVE_* flags that it adds to its own. In another user namespace capabilities only allow more; so
    where the ids alone suffice, no child is needed.
    """
    theirs, (ours, namespace) = credentials(tid), _own(os.getpid())
    if namespace_of(tid) != namespace:
        try:
            with _taken(theirs._replace(capabilities=0), ours):
                return open_path(_NO_MAGIC_LINKS)  # the daemon could follow those of processes that it owns
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError:
            return run_in_child(lambda: _open_in_its_namespace(tid, lambda: open_path(0)))
    if _for_lookup(theirs) == _for_lookup(ours):
        return open_path(0)
    with _taken(theirs, ours):
        return open_path(0)


def open_for(tid: int, held: int) -> int:
    """A descriptor to read what the O_PATH descriptor `held` leads to, opened in a thread's user namespace: files of
    /proc show ids as that numbers them. Raises OSError.
    """
    path = f"/proc/self/fd/{held}"
    if namespace_of(tid) == _own(os.getpid())[1]:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return run_in_child(lambda: _open_in_its_namespace(tid, lambda: os.open(path, os.O_RDONLY)))


@cache
def _own(pid: int) -> tuple[TaskCredentials, NamespaceId]:
    """The credentials and user namespace of this process `pid`, read while no thread has taken others."""
    return credentials(pid), namespace_of(pid)


def run_in_child(work: Callable[[], int], fork: Callable[[], int] = os.fork) -> int:
    """The descriptor that `work` gives in a child process, or -1 for none. Raises OSError.

    Nobody can trace the child, whatever credentials it takes.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            pid = fork()
            if pid == 0:
                _answer(work, theirs)
        said, descriptors, _, _ = socket.recv_fds(ours, _RESULT.size, 1)
    os.waitpid(pid, 0)
    (code,) = _RESULT.unpack(said) if said else (EIO,)
    if code:
        raise refuse(code)
    for fd in descriptors:
        os.set_inheritable(fd, False)
    return descriptors[0] if descriptors else -1


def take_credentials(theirs: TaskCredentials, ours: TaskCredentials, users: int | None) -> None:
    """Takes all ids and capabilities of a thread, in a process that has one thread. Raises OSError.

    `users` is a descriptor of the thread's user namespace, None for this process's own.
    """
    syscalls.libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    if set(theirs.groups) != set(ours.groups):
        _set_groups(theirs.groups)
    if theirs.gids[:3] != ours.gids[:3]:
        os.setresgid(*theirs.gids[:3])
    if theirs.uids[:3] != ours.uids[:3]:
        os.setresuid(*theirs.uids[:3])
    _set_capabilities(ours.capabilities, ours.capabilities)
    _set_file_system_ids(theirs)
    _enter(users)
    _set_capabilities(theirs.capabilities, theirs.capabilities)
    syscalls.forbid_tracing()  # a change of ids may have allowed it (PR_SET_DUMPABLE)


def _answer(work: Callable[[], int], asked: socket.socket) -> NoReturn:
    try:
        try:
            syscalls.forbid_tracing()
            fd = work()
            socket.send_fds(asked, [_RESULT.pack(0)], [] if fd < 0 else [fd])
        except OSError as error:
            asked.send(_RESULT.pack(error.errno or EIO))
    finally:
        os._exit(0)


def _open_in_its_namespace(tid: int, open_path: Callable[[], int]) -> int:
    """Takes the ids before it enters the namespace, which may have no numbers for some of them."""
    theirs, ours = credentials(tid), credentials(os.getpid())
    users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    if set(theirs.groups) != set(ours.groups):
        _set_groups(theirs.groups)
    _set_file_system_ids(theirs)
    _enter(users)
    _set_capabilities(theirs.capabilities, theirs.capabilities)
    return open_path()


def _enter(users: int | None) -> None:
    if users is not None:
        syscalls.set_namespace(users, syscalls.CLONE_NEWUSER)


def _for_lookup(who: TaskCredentials) -> tuple[int, int, frozenset[int], int]:
    """The credentials that a path lookup depends on."""
    return who.uids[_FILE_SYSTEM], who.gids[_FILE_SYSTEM], frozenset(who.groups), who.capabilities


@contextmanager
def _taken(theirs: TaskCredentials, ours: TaskCredentials) -> Iterator[None]:
    """Gives this thread the rights of another. Raises OSError."""
    other_groups = set(theirs.groups) != set(ours.groups)
    try:
        if other_groups:
            _set_groups(theirs.groups)
        _set_file_system_ids(theirs)
        _set_capabilities(theirs.capabilities & ours.capabilities, ours.capabilities)
        yield
    finally:
        _set_capabilities(ours.capabilities, ours.capabilities)
        _set_file_system_ids(ours)
        if other_groups:
            _set_groups(ours.groups)
        syscalls.forbid_tracing()


def _set_file_system_ids(who: TaskCredentials) -> None:
    syscalls.syscall("setfsgid", who.gids[_FILE_SYSTEM])
    syscalls.syscall("setfsuid", who.uids[_FILE_SYSTEM])


def _set_groups(groups: list[int]) -> None:
    """Sets the groups of this thread alone; os.setgroups sets those of all threads.

    Where setgroups(2) is forbidden, all processes have the same groups.
    """
    with suppress(PermissionError):
        syscalls.syscall("setgroups", len(groups), pack(f"={len(groups)}I", *groups))


def _set_capabilities(effective: int, permitted: int) -> None:
    """Sets the capabilities of this thread (capset(2))."""
    low = 0xFFFFFFFF
    halves = (effective & low, permitted & low, 0, effective >> 32, permitted >> 32, 0)
    syscalls.syscall("capset", pack("=Ii", _VERSION_3, 0), ctypes.create_string_buffer(pack("=6I", *halves)))
