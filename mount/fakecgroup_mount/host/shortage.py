"""Too few descriptors, too little memory: what is kept free for answers, and how a request is told.

A descriptor of ours gets the lowest number that is free. So one with a high number says that there are few left, and
what would keep it for long does without: the numbers above are for what is open while a request is answered.
"""

from __future__ import annotations

import gc
import mmap
import os
import resource
import threading
import time
from errno import EAGAIN, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC

from fakecgroup import Kernel
from fakecgroup_mount.errors import MountError

_LEAST = 32  # descriptors
_RESERVED = 32  # descriptors for answers, or half of what there may be
_HEADROOM = 4 << 20  # bytes that there have to be left when the tree grows: for answers, and for what a message takes
_LISTED = 512  # bytes that a cgroup takes in a list of them
_AGAIN = 0.9  # of the memory of what was removed is found again
_SPARING = 20  # between two collections, times the time that one takes
_SHORT = (EMFILE, ENFILE, ENOMEM, ENOSPC, EAGAIN)


def allow_all_descriptors() -> None:
    """As many as this process may have."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def require_descriptors() -> None:
    """Raises MountError where there may be fewer than what works."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _LEAST:
        raise MountError(f"ulimit -n is {soft}: at least {_LEAST} open files are needed")


def may_keep(fd: int) -> bool:
    """Whether a descriptor that is not there for one answer alone leaves enough for answers."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft == resource.RLIM_INFINITY or fd < soft - min(_RESERVED, soft // 2)


def is_shortage(error: BaseException) -> bool:
    """Whether something failed because of a limit, and may work later."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORT)


def explained(error: BaseException) -> str | None:
    """What there is too little of, in words and which limit says so; None where it failed for another cause."""
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
    """Raises RuntimeError where so many more cannot be started."""
    enough = threading.Event()
    started = []
    try:
        for _ in range(number):
            started.append(threading.Thread(target=enough.wait))
            started[-1].start()
    finally:
        enough.set()
        for thread in started:
            if thread.ident is not None:
                thread.join()


def reply_errno(error: OSError) -> int:
    """The errno that a request is answered with: that we have too many files open is no affair of whoever asks."""
    return ENOMEM if error.errno == EMFILE else error.errno or EIO


class MemoryHeadroom:
    """Says whether a tree can grow, so that it fails before anything has changed."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._most = 0  # cgroups that there is memory for, once there was not enough for one more
        self._living = 0  # that there were at the last collection
        self._made = 0  # since then
        self._next_collection = 0.0

    def require(self) -> None:
        """Before a cgroup is made. Raises MemoryError.

        A process seldom gives memory back, so what was removed makes room too. It is in cycles until it is collected.
        """
        living = sum(hierarchy.root.nr_descendants for hierarchy in self._kernel.hierarchies)
        size = _HEADROOM + living * _LISTED
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
