"""With whose rights a path is resolved: those of the thread that asks.

Ours are those of the sandbox's root, who may look everywhere. So for the time of one look a thread of ours takes the
asker's file system ids, groups and capabilities, which threads have each for themselves (credentials(7)). Capabilities
count in a user namespace; where the asker has another, a child of ours looks there.
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

from fakecgroup.refuse import refuse
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.process import Credentials, credentials
from fakecgroup_mount.seccomp.user_namespaces import Namespace, namespace_of

_VERSION_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_PR_SET_KEEPCAPS = 8
_FILE_SYSTEM = 3  # which of the ids
_NO_MAGIC_LINKS = 0x02  # RESOLVE_NO_MAGICLINKS, include/uapi/linux/openat2.h
_RESULT = Struct("=i")  # an errno


def with_credentials_of(tid: int, look: Callable[[int], int]) -> int:
    """What `look` opens, with a thread's rights: a descriptor of ours. It is given further limits for openat2(2).
    Raises OSError.

    In another user namespace capabilities only allow more. So where the ids alone do, no child is needed.
    """
    theirs, (ours, namespace) = credentials(tid), _own(os.getpid())
    if namespace_of(tid) != namespace:
        try:
            with _taken(theirs._replace(capabilities=0), ours):
                return look(_NO_MAGIC_LINKS)  # whom we own in that namespace, these would look into
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError:
            return run_in_child(lambda: _look_in_its_namespace(tid, lambda: look(0)))
    if _counts(theirs) == _counts(ours):
        return look(0)
    with _taken(theirs, ours):
        return look(0)


@cache
def _own(pid: int) -> tuple[Credentials, Namespace]:
    """Ours, `pid` being our number, when no thread has another's."""
    return credentials(pid), namespace_of(pid)


def run_in_child(work: Callable[[], int], fork: Callable[[], int] = os.fork) -> int:
    """What `work` gives in a child of ours: a descriptor, or -1 for none. Raises OSError.

    Nobody can trace it, whoever it becomes.
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


def take_credentials(theirs: Credentials, ours: Credentials, users: int | None) -> None:
    """Takes all ids and capabilities, in the user namespace that `users` is a descriptor of or in ours, with a process
    that has one thread. Raises OSError.
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
    syscalls.forbid_tracing()  # which other ids may have allowed


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


def _look_in_its_namespace(tid: int, look: Callable[[], int]) -> int:
    """The ids are taken before, as ours: it may have some that its own namespace has no number for."""
    theirs, ours = credentials(tid), credentials(os.getpid())
    users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    if set(theirs.groups) != set(ours.groups):
        _set_groups(theirs.groups)
    _set_file_system_ids(theirs)
    _enter(users)
    _set_capabilities(theirs.capabilities, theirs.capabilities)
    return look()


def _enter(users: int | None) -> None:
    if users is not None:
        syscalls.set_namespace(users, syscalls.CLONE_NEWUSER)


def _counts(who: Credentials) -> tuple[int, int, frozenset[int], int]:
    """What is looked at where a file is."""
    return who.uids[_FILE_SYSTEM], who.gids[_FILE_SYSTEM], frozenset(who.groups), who.capabilities


@contextmanager
def _taken(theirs: Credentials, ours: Credentials) -> Iterator[None]:
    """This thread has the rights of another. Raises OSError."""
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


def _set_file_system_ids(who: Credentials) -> None:
    syscalls.syscall("setfsgid", who.gids[_FILE_SYSTEM])
    syscalls.syscall("setfsuid", who.uids[_FILE_SYSTEM])


def _set_groups(groups: list[int]) -> None:
    """Of this thread alone, where Python's own function sets those of all. Where nobody may, all have the same."""
    with suppress(PermissionError):
        syscalls.syscall("setgroups", len(groups), pack(f"={len(groups)}I", *groups))


def _set_capabilities(effective: int, permitted: int) -> None:
    """Of this thread (capset(2))."""
    low = 0xFFFFFFFF
    halves = (effective & low, permitted & low, 0, effective >> 32, permitted >> 32, 0)
    syscalls.syscall("capset", pack("=Ii", _VERSION_3, 0), ctypes.create_string_buffer(pack("=6I", *halves)))
