"""Mounts of the tree: made apart, put somewhere, taken away (open_tree(2), move_mount(2), umount2(2))."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from errno import EIO
from struct import pack

from . import syscalls

_ATIME = 0x70
ATTRIBUTES = 0x2000FF  # read-only, nosuid, nodev, noexec, those of access times, nosymfollow: MOUNT_ATTR_*
_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
_BOTH_EMPTY = 0x04 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH


def detached(home: int, path: str, attributes: int) -> int:
    """A descriptor for a new mount of what is at `path` in the mount namespace `home`; it ends with the descriptor,
    unless it is put somewhere. Raises OSError.

    A thread of its own does it, that ends in that namespace.
    """
    made: list[int] = []
    failed: list[OSError] = []

    def work() -> None:
        try:
            syscalls.unshare(syscalls.CLONE_FS)
            syscalls.set_namespace(home, syscalls.CLONE_NEWNS)
            flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC
            tree = syscalls.syscall("open_tree", syscalls.AT_FDCWD, os.fsencode(path), flags)
            made.append(tree)
            change = pack("=QQQQ", attributes, ATTRIBUTES & ~attributes | _ATIME, 0, 0)
            syscalls.syscall("mount_setattr", tree, b"", syscalls.AT_EMPTY_PATH, change, len(change))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        for tree in made:
            os.close(tree)
        raise failed[0]
    return made[0]


def attach(tree: int, tid: int, place: int, flags: int = 0) -> int:
    """Puts a mount at `place`, in a thread's namespaces; returns an errno. `flags` are those of move_mount(2)."""
    both = flags | _BOTH_EMPTY
    return _inside(tid, lambda: syscalls.syscall("move_mount", tree, b"", place, b"", both))


def unmount(path: str, tid: int, flags: int) -> int:
    """umount2(2) in a thread's namespaces, with a path from their root on; returns an errno."""
    return _inside(tid, lambda: syscalls.unmount(path, flags))


def _inside(tid: int, work: Callable[[], object]) -> int:
    """Does it in a thread's namespaces.

    A child of ours does it, as a process with threads cannot change its user namespace.
    """
    pid = os.fork()
    if pid == 0:
        code = EIO
        try:
            _enter(tid)
            work()
            code = 0
        except OSError as error:
            code = error.errno or EIO
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _enter(tid: int) -> None:
    users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY)
    mounts = os.open(f"/proc/{tid}/ns/mnt", os.O_RDONLY)
    if os.stat("/proc/self/ns/user").st_ino != os.fstat(users).st_ino:
        syscalls.set_namespace(users, syscalls.CLONE_NEWUSER)
    syscalls.set_namespace(mounts, syscalls.CLONE_NEWNS)
