"""Too few descriptors, too little memory: what is kept free for answers, and how a request is told.

A descriptor of ours gets the lowest number that is free. So one with a high number says that there are few left, and
what would keep it for long does without: the numbers above are for what is open while a request is answered.
"""

from __future__ import annotations

import mmap
import resource
from errno import EAGAIN, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC

_RESERVED = 32  # descriptors for answers, or half of what there may be
_HEADROOM = 4 << 20  # bytes that there have to be left when the tree grows: for answers, and for what a message takes
_SHORT = (EMFILE, ENFILE, ENOMEM, ENOSPC, EAGAIN)


def allow_all_descriptors() -> None:
    """As many as this process may have."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def may_keep(fd: int) -> bool:
    """Whether a descriptor that is not there for one answer alone leaves enough for answers."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft == resource.RLIM_INFINITY or fd < soft - min(_RESERVED, soft // 2)


def is_shortage(error: BaseException) -> bool:
    """Whether something failed because of a limit, and may work later."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORT)


def told(error: OSError) -> int:
    """The errno that a request is answered with: that we have too many files open is no affair of whoever asks."""
    return ENOMEM if error.errno == EMFILE else error.errno or EIO


def require_headroom() -> None:
    """Before the tree grows, so that it fails before anything has changed. Raises MemoryError."""
    try:
        mmap.mmap(-1, _HEADROOM).close()
    except OSError as error:
        raise MemoryError from error
