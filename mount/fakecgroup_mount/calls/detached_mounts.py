"""Mounts of the tree: made without a place, put somewhere, taken away (open_tree(2), move_mount(2), umount2(2))."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing
from struct import pack

from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.namespaces import UserAndMountNamespaces

_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
_PRIVATE = 16384 | 1 << 18  # MS_REC, MS_PRIVATE
_BOTH_EMPTY = 0x04 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH


def detached_mount(home: int, path: str, attributes: int) -> int:
    """A descriptor of a new mount of what is at `path` in the mount namespace `home`. Raises OSError.

    `attributes` are MOUNT_ATTR_*. The mount ends with its last descriptor unless it is put somewhere.
    """
    from fakecgroup.outside.fs_context import ATIME, ATTRIBUTES  # takes a while to load

    def make() -> int:
        flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC
        tree = syscalls.syscall("open_tree", syscalls.AT_FDCWD, os.fsencode(path), flags)
        change = pack("=QQQQ", attributes, ATTRIBUTES & ~attributes | ATIME, 0, 0)
        try:
            syscalls.syscall("mount_setattr", tree, b"", syscalls.AT_EMPTY_PATH, change, len(change))
        except OSError:
            os.close(tree)
            raise
        return tree

    return _made_in(home, make)


def copy_mount_namespace(home: int) -> int:
    """A descriptor of a copy of the mount namespace `home`. Later unmounts there do not change it. Raises OSError."""

    def make() -> int:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount(None, "/", None, _PRIVATE)
        return os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    return _made_in(home, make)


def _made_in(home: int, make: Callable[[], int]) -> int:
    """The descriptor that `make` gives in the mount namespace `home`. A thread enters it, and ends. Raises OSError."""
    outcome: list[int | OSError] = []

    def work() -> None:
        try:
            syscalls.unshare(syscalls.CLONE_FS)
            syscalls.set_namespace(home, syscalls.CLONE_NEWNS)
            outcome.append(make())
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (made,) = outcome
    if isinstance(made, OSError):
        raise made
    return made


def move_mount(tree: int, tid: int, place: int, flags: int = 0) -> int:
    """Puts the mount `tree` at the descriptor `place`, in a thread's namespaces; returns an errno or 0.

    `flags` are those of move_mount(2). Raises OSError: no such thread.
    """
    both = flags | _BOTH_EMPTY
    with closing(UserAndMountNamespaces(tid)) as there:
        return there.do(lambda: syscalls.syscall("move_mount", tree, b"", place, b"", both))


def unmount(path: str, tid: int, flags: int) -> int:
    """umount2(2) in a thread's namespaces; returns an errno or 0. Raises OSError: no such thread.

    `path` begins at the root of the thread's mount namespace.
    """
    with closing(UserAndMountNamespaces(tid)) as there:
        return there.do(lambda: syscalls.unmount(path, flags))
