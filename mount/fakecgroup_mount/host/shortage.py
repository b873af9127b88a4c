"""Limits of descriptors, memory and threads: what is kept free for answers, and the errno of a request that fails.

A new descriptor gets the lowest free number, so a high number means that few are left. Then nothing keeps a descriptor
for long: the highest numbers are reserved for files that are open only while a request is answered.
"""

from __future__ import annotations

import _thread
import gc
import mmap
import os
import resource
import threading
import time
from errno import EAGAIN, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC
from typing import TYPE_CHECKING

from fakecgroup_mount.errors import MountError

if TYPE_CHECKING:
    from fakecgroup import Kernel

_LEAST = 32  # descriptors that a daemon needs
_RESERVED = 32  # descriptors for answers; at most half of the limit
_HEADROOM = 4 << 20  # bytes that must be free before the tree grows, for answers and log messages
_UNASKED = 64  # cgroups that are made without asking anew for memory
_RECENT = 0.01  # seconds for which an answer holds
_CGROUP = 8 << 10  # bytes of a new cgroup at most
_LISTED = 512  # bytes of a cgroup in a list of all
_AGAIN = 0.9  # share of the memory of removed cgroups that can be used again
_SPARING = 20  # times the duration of a garbage collection before the next one
_SHORT = (EMFILE, ENFILE, ENOMEM, ENOSPC, EAGAIN)


def allow_all_descriptors() -> None:
    """Raises the soft limit of open files to the hard one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def require_descriptors() -> None:
    """Raises MountError if the limit of open files is too low for a daemon."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _LEAST:
        raise MountError(f"ulimit -n is {soft}: at least {_LEAST} open files are needed")


def may_keep(fd: int) -> bool:
    """Whether a new descriptor may be kept beyond one answer: whether enough are left for answers."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft == resource.RLIM_INFINITY or fd < soft - min(_RESERVED, soft // 2)


def is_shortage(error: BaseException) -> bool:
    """Whether an operation failed because of a limit and may work later."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORT)


def explained(error: BaseException) -> str | None:
    """Says what is short and which limit causes it; None for any other error."""
    if isinstance(error, RuntimeError) and "thread" in str(error):
        return "no more threads can be started: a limit of processes (ulimit -u) or of memory (ulimit -v) is reached"
    if isinstance(error, MemoryError):
        return "there is too little memory (ulimit -v)"
    if not isinstance(error, OSError):
        return None
    return {
        EAGAIN: f"{os.strerror(EAGAIN)}: no more processes can be started (ulimit -u)",
        EMFILE: f"{os.strerror(EMFILE)} (ulimit -n)",
        ENFILE: f"{os.strerror(ENFILE)} (sysctl fs.file-max)",
        ENOMEM: f"{os.strerror(ENOMEM)} (ulimit -v)",
    }.get(error.errno or 0)


def require_threads(number: int) -> None:
    """Raises RuntimeError if `number` more threads cannot be started."""
    enough, ended = _thread.allocate_lock(), threading.Semaphore(0)

    def wait() -> None:
        with enough:
            pass
        ended.release()

    started = 0
    try:
        with enough:
            while started < number:
                _thread.start_new_thread(wait, ())  # `Thread.start` would wait for each
                started += 1
    finally:
        for _ in range(started):
            ended.acquire()


def reply_errno(error: OSError) -> int:
    """The errno for a failed request. EMFILE is about our own files, so the caller gets ENOMEM."""
    return ENOMEM if error.errno == EMFILE else error.errno or EIO


class MemoryHeadroom:
    """Refuses a new cgroup before anything has changed, when memory is short."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._most = 0  # cgroups that fit into memory, once it was short
        self._living = 0  # cgroups at the last garbage collection
        self._made = 0  # cgroups made since then
        self._next_collection = 0.0
        self._unasked, self._asked = 0, 0.0  # cgroups that may be made before it is asked again, and when it was

    def require(self) -> None:
        """Called before a cgroup is made. Raises MemoryError.

        Python keeps the memory of removed cgroups, so it counts as free. Removed cgroups are in reference cycles until
        they are collected.
        """
        if self._unasked and time.monotonic() - self._asked < _RECENT:
            self._unasked -= 1
            return
        living = sum(hierarchy.root.nr_descendants for hierarchy in self._kernel.hierarchies)
        size = _HEADROOM + living * _LISTED
        if _can_map(size + _UNASKED * _CGROUP):
            self._unasked, self._asked = _UNASKED, time.monotonic()
            return
        if _can_map(size):
            return
        self._most = max(self._most, int(living * _AGAIN))
        began = time.monotonic()
        if began >= self._next_collection:
            gc.collect()
            self._next_collection = time.monotonic() + _SPARING * (time.monotonic() - began)
            self._living, self._made = living, 0
            if _can_map(size):
                return
        if self._living + self._made >= self._most:
            raise MemoryError
        self._made += 1


def _can_map(size: int) -> bool:
    try:
        mmap.mmap(-1, size).close()
    except OSError:
        return False
    return True
